# cmake --install: the shared library, its headers, the package for find_package(headwise), and the program.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS headwise EXPORT headwise-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/headwise DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET headwise_program)
  install(TARGETS headwise_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # Where the program looks for it, from where it lies itself.
  install(DIRECTORY data/hardware data/calibration data/efficiency data/workloads DESTINATION share/headwise)
endif()

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/headwise)
install(EXPORT headwise-targets NAMESPACE headwise:: DESTINATION ${package_folder})
configure_package_config_file(cmake/headwise-config.cmake.in headwise-config.cmake
  INSTALL_DESTINATION ${package_folder})
# Before 1.0 a minor version may break callers.
write_basic_package_version_file(headwise-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/headwise-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/headwise-config-version.cmake
        DESTINATION ${package_folder})
