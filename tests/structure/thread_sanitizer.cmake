# GCC's OpenMP runtime is built without the thread sanitizer, which therefore does not see that a parallel region
# starts after what came before it and ends before what follows, and reports races everywhere. openmp_annotations
# tells it; every test of this build runs with it preloaded. Two small programs show that it silences what is
# right and nothing else.

add_library(openmp_annotations MODULE openmp_annotations.cpp)
foreach(program guarded_sum planted_race)
  add_executable(${program} ${program}.cpp)
  target_link_libraries(${program} PRIVATE headwise_options OpenMP::OpenMP_CXX)
  add_dependencies(${program} openmp_annotations)
  add_test(NAME ${program} COMMAND ${program})
  set_tests_properties(${program} PROPERTIES ENVIRONMENT OMP_NUM_THREADS=2)
endforeach()
set_tests_properties(planted_race PROPERTIES
  PASS_REGULAR_EXPRESSION "WARNING: ThreadSanitizer: data race")

# ctest sets this for itself, and so for all that it starts.
set(environment ${CMAKE_CURRENT_BINARY_DIR}/thread_sanitizer_environment.cmake)
file(GENERATE OUTPUT ${environment} CONTENT "set(ENV{LD_PRELOAD} $<TARGET_FILE:openmp_annotations>)\n")
set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${environment})
