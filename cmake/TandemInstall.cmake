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
if(TARGET tandem_sentencepiece)
  install(TARGETS tandem_sentencepiece LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/tandem")
endif()
if(TARGET tandem_torch_plugin)
  install(TARGETS tandem_torch_plugin LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/tandem")
endif()
install(EXPORT tandemTargets NAMESPACE tandem:: DESTINATION "${package_dir}")

# The component torch: find_package(tandem COMPONENTS torch) gives tandem::torch.
if(TARGET tandem_torch)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/torch/include/tandem"
          DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
  set_target_properties(tandem_torch PROPERTIES INSTALL_RPATH "$ORIGIN")
  install(TARGETS tandem_torch EXPORT tandemTorchTargets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
                                                         ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
                                                         RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(EXPORT tandemTorchTargets FILE tandem-torch-targets.cmake NAMESPACE tandem::
          DESTINATION "${package_dir}")
  install(FILES "${PROJECT_SOURCE_DIR}/cmake/tandem-torch.cmake" DESTINATION "${package_dir}")
endif()

# Who links a static library links what it stands on; a shared one knows that by itself.
get_target_property(library_type tandem TYPE)
set(TANDEM_DEPENDENCIES "")
if(library_type STREQUAL "STATIC_LIBRARY")
  string(JOIN "\n" TANDEM_DEPENDENCIES "include(CMakeFindDependencyMacro)"
         "find_dependency(hwy)" "find_dependency(Threads)")
endif()
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/tandemConfig.cmake.in" "${PROJECT_BINARY_DIR}/tandemConfig.cmake"
  INSTALL_DESTINATION "${package_dir}" NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may break what the one before had.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tandemConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/tandemConfig.cmake"
              "${PROJECT_BINARY_DIR}/tandemConfigVersion.cmake" DESTINATION "${package_dir}")
