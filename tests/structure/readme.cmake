# README.md and docs/kv-cache.md stay true: their C++ compiles and runs, and the support table says what the
# backends say.

set(readme ${PROJECT_SOURCE_DIR}/README.md)

# readme_example(name document): NAME_example_test.cpp among whose buffers the document's C++ stands.
function(readme_example name document)
  set(example ${CMAKE_CURRENT_BINARY_DIR}/${name}_example.inc)
  add_custom_command(OUTPUT ${example}
    COMMAND ${Python3_EXECUTABLE} ${here}/readme_example.py ${document} ${example}
    DEPENDS ${document} ${here}/readme_example.py)
  headwise_test(${name}_example_test SOURCES ${name}_example_test.cpp ${example} LINKS headwise)
  target_include_directories(${name}_example_test PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
endfunction()

readme_example(readme ${readme})
readme_example(cache ${PROJECT_SOURCE_DIR}/docs/kv-cache.md)

add_executable(support_table support_table.cpp)
target_link_libraries(support_table PRIVATE headwise headwise_options)
if(HEADWISE_CUDA_ROWS)  # the table is of all rows
  set(left_out cuda-sm80 cuda-sm90)
endif()
add_test(NAME support_table COMMAND support_table ${readme} ${left_out})
add_test(NAME support_table_check_works COMMAND support_table ${here}/planted_support_table.md)
set_tests_properties(support_table_check_works PROPERTIES
  PASS_REGULAR_EXPRESSION "planted_support_table.md: the support table should be")
