# Compiler options of every target, and the one way to add a folder as a library.

add_library(headwise_options INTERFACE)
set(cxx_options -Wall -Wextra -Wpedantic -Wshadow -Werror
  -Wno-missing-field-initializers)  # designated initialisers name what differs from the defaults
if(HEADWISE_SANITIZE)
  list(APPEND cxx_options
    -fsanitize=${HEADWISE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(headwise_options INTERFACE -fsanitize=${HEADWISE_SANITIZE})
endif()
target_compile_options(headwise_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${cxx_options}>")

execute_process(COMMAND git -C ${PROJECT_SOURCE_DIR} rev-parse --short=12 HEAD
                OUTPUT_VARIABLE HEADWISE_REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT HEADWISE_REVISION)
  set(HEADWISE_REVISION unknown)
endif()

# headwise_folder(core SOURCES a.cpp b.cpp LINKS ...): the target headwise_core. LINKS may name only what
# lies below the folder.
function(headwise_folder name)
  cmake_parse_arguments(FOLDER "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(headwise_${name} STATIC ${FOLDER_SOURCES})
  target_include_directories(headwise_${name} PUBLIC
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_link_libraries(headwise_${name} PUBLIC ${FOLDER_LINKS}
                        PRIVATE headwise_options ${FOLDER_PRIVATE_LINKS})
endfunction()
