# SPDX-License-Identifier: MIT
# The component torch of find_package(tandem); tandemConfig.cmake includes it.
include(CMakeFindDependencyMacro)
find_dependency(Torch)
include("${CMAKE_CURRENT_LIST_DIR}/tandem-torch-targets.cmake")
