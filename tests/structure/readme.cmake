# README.md stays true: its C++ compiles and runs, and its support table says what the backends say.

set(readme ${PROJECT_SOURCE_DIR}/README.md)
set(example ${CMAKE_CURRENT_BINARY_DIR}/readme_example.inc)
add_custom_command(OUTPUT ${example}
  COMMAND ${Python3_EXECUTABLE} ${here}/readme_example.py ${readme} ${example}
  DEPENDS ${readme} ${here}/readme_example.py)
headwise_test(readme_example_test SOURCES readme_example_test.cpp ${example} LINKS headwise)
target_include_directories(readme_example_test PRIVATE ${CMAKE_CURRENT_BINARY_DIR})

add_executable(support_table support_table.cpp)
target_link_libraries(support_table PRIVATE headwise headwise_options)
if(HEADWISE_CUDA_ROWS)  # the table is of all rows
  set(left_out cuda-sm80)
endif()
add_test(NAME support_table COMMAND support_table ${readme} ${left_out})
add_test(NAME support_table_check_works COMMAND support_table ${here}/planted_support_table.md)
set_tests_properties(support_table_check_works PROPERTIES
  PASS_REGULAR_EXPRESSION "planted_support_table.md: the support table should be")
