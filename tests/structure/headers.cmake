# Every header compiles alone: one translation unit each that includes nothing else, as part of the build.

# headwise_headers_alone(target files...): paths relative to the project or absolute.
function(headwise_headers_alone target)
  foreach(header ${ARGN})
    string(MAKE_C_IDENTIFIER ${header} name)
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/${target}/${name}.cpp)
    file(GENERATE OUTPUT ${unit} CONTENT "#include \"${header}\"\n")
    if(header MATCHES "/(isa|stretch)_[^/]*$")  # of one instruction set; this one has them all
      set_source_files_properties(${unit} PROPERTIES COMPILE_OPTIONS -march=sapphirerapids)
    endif()
    list(APPEND units ${unit})
  endforeach()
  add_library(${target} OBJECT ${units})
  target_compile_options(${target} PRIVATE -O0 -g0)
  target_include_directories(${target} PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE headwise_options OpenMP::OpenMP_CXX)
endfunction()

file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  ${PROJECT_SOURCE_DIR}/include/*.h ${PROJECT_SOURCE_DIR}/src/*.h
  ${PROJECT_SOURCE_DIR}/bench/*.h ${PROJECT_SOURCE_DIR}/cli/*.h)
set(cuda_headers ${headers})
list(FILTER cuda_headers INCLUDE REGEX "^src/cuda/")
list(FILTER headers EXCLUDE REGEX "^src/cuda/")
headwise_headers_alone(headers_alone ${headers})
if(HEADWISE_CUDA_FOUND)
  headwise_headers_alone(cuda_headers_alone ${cuda_headers})
  target_link_libraries(cuda_headers_alone PRIVATE CUDA::cudart_static)
endif()

# What a header without one of its includes looks like to that build.
add_test(NAME headers_alone_check_works
  COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -fsyntax-only -x c++ ${here}/planted_header.h)
set_tests_properties(headers_alone_check_works PROPERTIES
  PASS_REGULAR_EXPRESSION "planted_header.h:[0-9]+:[0-9]+: error: .*string.* does not name a type")
