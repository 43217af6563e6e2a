# Finds nvcc, sets HEADWISE_CUDA_FOUND, and says how kernels are compiled. docs/cuda.md is the manual.

set(HEADWISE_CUDA_FOUND OFF)
set(HEADWISE_CUDA_ARCHITECTURES none)  # as --version prints it
if(NOT HEADWISE_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "HEADWISE_CUDA is '${HEADWISE_CUDA}', not AUTO, ON or OFF")
endif()
if(HEADWISE_CUDA STREQUAL OFF)
  return()
endif()

if(NOT CMAKE_CUDA_HOST_COMPILER)
  set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
endif()
find_program(HEADWISE_NVCC nvcc PATHS ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
if(HEADWISE_NVCC AND NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  set(CMAKE_CUDA_COMPILER ${HEADWISE_NVCC})
endif()
# Machine code for data centres' Ampere and for Hopper; PTX for all between and after them, with Ada's
# FP8 conversions from 89 on.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 80-virtual 89-virtual)
endif()
if(HEADWISE_CUDA STREQUAL AUTO)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    message(STATUS "CUDA backends: left out, there is no nvcc")
    return()
  endif()
  if(NOT HEADWISE_NVCC_WORKS)
    message(STATUS "Looking whether nvcc works")
    set(probe ${PROJECT_BINARY_DIR}/CMakeFiles/nvcc_probe)
    file(WRITE ${probe}/CMakeLists.txt
      "cmake_minimum_required(VERSION 3.25)\nproject(probe LANGUAGES CUDA)\nfind_package(CUDAToolkit REQUIRED)\n")
    execute_process(
      COMMAND ${CMAKE_COMMAND} -G ${CMAKE_GENERATOR} -S ${probe} -B ${probe}/build
              -DCMAKE_CUDA_COMPILER=${CMAKE_CUDA_COMPILER} -DCMAKE_CUDA_HOST_COMPILER=${CMAKE_CUDA_HOST_COMPILER}
              -DCMAKE_CUDA_ARCHITECTURES=80 -DCMAKE_MAKE_PROGRAM=${CMAKE_MAKE_PROGRAM}
      RESULT_VARIABLE failed OUTPUT_FILE ${probe}/log.txt ERROR_FILE ${probe}/log.txt)
    if(failed)
      message(WARNING "CUDA backends: left out, nvcc (${CMAKE_CUDA_COMPILER}) does not work: ${probe}/log.txt")
      unset(CMAKE_CUDA_COMPILER)
      return()
    endif()
    set(HEADWISE_NVCC_WORKS ON CACHE INTERNAL "nvcc compiled a program")
  endif()
endif()

enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc has it
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
set(HEADWISE_CUDA_FOUND ON)

# "80 90, PTX 80 89"
set(real "")
set(virtual "")
foreach(architecture IN LISTS CMAKE_CUDA_ARCHITECTURES)
  string(REGEX REPLACE "-.*" "" number ${architecture})
  if(NOT architecture MATCHES "-virtual$")
    string(APPEND real " ${number}")
  endif()
  if(NOT architecture MATCHES "-real$")
    string(APPEND virtual " ${number}")
  endif()
endforeach()
set(HEADWISE_CUDA_ARCHITECTURES "${real}, PTX${virtual}")
string(STRIP "${HEADWISE_CUDA_ARCHITECTURES}" HEADWISE_CUDA_ARCHITECTURES)
message(STATUS "CUDA backends: ${CMAKE_CUDA_COMPILER}, architectures ${HEADWISE_CUDA_ARCHITECTURES}")

# A kernel row takes up to 4 GB while it is compiled.
set_property(GLOBAL PROPERTY JOB_POOLS nvcc=2)
set(python3 /usr/bin/python3)
if(NOT EXISTS ${python3})
  find_program(python3_found python3 REQUIRED)
  set(python3 ${python3_found})
endif()

set(ptxas_check ${python3} ${PROJECT_SOURCE_DIR}/cmake/ptxas_check.py ${CMAKE_CUDA_COMPILER_LAUNCHER})

# What .cu files are compiled with. nvcc's host pass sees generated code, so -Wpedantic stays out.
# 177: a function that only some instantiations use is no mistake.
set(HEADWISE_CUDA_OPTIONS
  -Xptxas=-v -lineinfo --Werror=all-warnings -Xcudafe=--diag_suppress=177
  -Xcompiler=-Wall,-Wextra,-Wshadow,-Wno-missing-field-initializers)

# headwise_cuda_rows(TARGET FILES...): adds kernel rows, one .cu file each, to a target. ptxas's report is
# checked, and kept beside each object as X.ptxas. A file that HEADWISE_CUDA_ROWS leaves out is compiled as
# plain C++ with HEADWISE_ROW_LEFT_OUT defined: it then defines the row's name without a kernel.
function(headwise_cuda_rows target)
  target_sources(${target} PRIVATE ${ARGN})
  foreach(file IN LISTS ARGN)
    get_filename_component(name ${file} NAME_WE)
    if(HEADWISE_CUDA_ROWS AND NOT name MATCHES "${HEADWISE_CUDA_ROWS}")
      set_source_files_properties(${file} PROPERTIES LANGUAGE CXX COMPILE_DEFINITIONS HEADWISE_ROW_LEFT_OUT)
    else()
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS ${HEADWISE_CUDA_OPTIONS})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES JOB_POOL_COMPILE nvcc CUDA_COMPILER_LAUNCHER "${ptxas_check}")
endfunction()
