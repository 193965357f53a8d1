# SPDX-License-Identifier: MIT
# Headers, library, program, and the CMake package `tandem`.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tandem")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/tandem" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.h")
install(TARGETS tandem EXPORT tandemTargets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
                                            ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
                                            RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
if(TARGET tandem_program)
  install(TARGETS tandem_program RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
install(EXPORT tandemTargets NAMESPACE tandem:: DESTINATION "${package_dir}")

# Who links a static library links what it stands on; a shared one knows that by itself.
get_target_property(library_type tandem TYPE)
set(TANDEM_DEPENDENCIES "")
if(library_type STREQUAL "STATIC_LIBRARY")
  string(JOIN "\n" TANDEM_DEPENDENCIES "include(CMakeFindDependencyMacro)"
         "find_dependency(hwy)" "find_dependency(OpenMP COMPONENTS CXX)")
endif()
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/tandemConfig.cmake.in" "${PROJECT_BINARY_DIR}/tandemConfig.cmake"
  INSTALL_DESTINATION "${package_dir}" NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may break what the one before had.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tandemConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/tandemConfig.cmake"
              "${PROJECT_BINARY_DIR}/tandemConfigVersion.cmake" DESTINATION "${package_dir}")
