# SPDX-License-Identifier: MIT
# Small functions that the CMakeLists.txt share.
include_guard()

# The sources of some modules (folders) without their tests.
function(tandem_module_sources out)
  set(all "")
  foreach(module IN LISTS ARGN)
    file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${module}/*.cc")
    list(APPEND all ${sources})
  endforeach()
  list(FILTER all EXCLUDE REGEX "_test\\.cc$")
  set(${out} "${all}" PARENT_SCOPE)
endfunction()

# The tests of some modules.
function(tandem_module_tests out)
  set(all "")
  foreach(module IN LISTS ARGN)
    file(GLOB tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${module}/*_test.cc")
    list(APPEND all ${tests})
  endforeach()
  set(${out} "${all}" PARENT_SCOPE)
endfunction()

# How all of our own code is compiled; nothing of it reaches those who use the library.
function(tandem_settings target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  # -Wconversion is left out: Highway's headers are full of what it warns of. Contraction makes the
  # bits of a result depend on where in a vector it stands.
  # g++ 12 sees overlapping copies in std::string's operator+ that are not there (its bug 105329).
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -ffp-contract=off
                                           $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
                                           $<$<BOOL:${TANDEM_WERROR}>:-Werror>)
  # Targets that no CPU of interest runs best on only cost compile time, and SVE's vectors cannot
  # stand in the structs of our kernels. The same in every file, or two files disagree on the
  # dispatch tables.
  target_compile_definitions(
    ${target}
    PRIVATE
      "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_AVX3_DL|HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)")
endfunction()

# For code whose compile time counts for more than its speed: in a release build, less optimization.
set(TANDEM_QUICK_COMPILE $<$<CONFIG:Release>:-O1>)

# Headers that most of our files include.
set(TANDEM_COMMON_HEADERS
    <algorithm> <chrono> <cmath> <filesystem> <fstream> <functional> <map> <memory> <optional>
    <random> <set> <span> <sstream> <string> <vector> <fmt/format.h> <fmt/ranges.h>)

# For ccache; and g++ 12 forgets in such headers what it knows not to warn of in std::string.
set(precompiled_options -fpch-preprocess -Wno-array-bounds -Wno-stringop-overflow
                        -Wno-stringop-overread)

# tandem_precompile(TARGET HEADER...): the headers are read once for all files of the target. A file
# includes what it uses nevertheless. Only for g++, with which ccache is known to bear it. It does not
# pay for LibTorch's headers: hundreds of megabytes, and as slow as reading them as text.
function(tandem_precompile target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_precompile_headers(${target} PRIVATE ${ARGN})
    target_compile_options(${target} PRIVATE ${precompiled_options})
  endif()
endfunction()

# tandem_precompiled_as(MODEL TARGET...): with the headers precompiled for another target, which is
# of the same kind and has the same options.
function(tandem_precompiled_as model)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    foreach(target IN LISTS ARGN)
      target_precompile_headers(${target} REUSE_FROM ${model})
      target_compile_options(${target} PRIVATE ${precompiled_options})
    endforeach()
  endif()
endfunction()

# A source with the texts of studies/**/*.toml, which is made anew when one of them changes.
function(tandem_embed_studies out)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/studies"
       "${PROJECT_SOURCE_DIR}/studies/*.toml")
  set(TANDEM_BUILTIN_STUDIES "")
  foreach(file IN LISTS files)
    file(READ "${PROJECT_SOURCE_DIR}/studies/${file}" text)
    string(APPEND TANDEM_BUILTIN_STUDIES "      {\"${file}\", R\"toml(${text})toml\"},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "studies/${file}")
  endforeach()
  set(source "${PROJECT_BINARY_DIR}/builtin_studies.cc")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/builtin_studies.cc.in" "${source}" @ONLY)
  set(${out} "${source}" PARENT_SCOPE)
endfunction()

# find_package, and where it fails, the name of the Debian package that has it.
macro(tandem_require_package name debian_package)
  find_package(${name} QUIET ${ARGN})
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "Tandem needs ${name}, which was not found. Debian: ${debian_package}")
  endif()
endmacro()

# Says what is not built, why, and which Debian package would change that.
function(tandem_skip what why debian_package)
  set(line "skipped: ${what}, because ${why} (Debian: ${debian_package})")
  message(STATUS "${line}")
  set_property(GLOBAL APPEND PROPERTY TANDEM_SKIPPED "${line}")
endfunction()

# Writes skipped.txt, a line for each tandem_skip, for .ci/run to show.
function(tandem_report_skipped)
  get_property(lines GLOBAL PROPERTY TANDEM_SKIPPED)
  list(TRANSFORM lines APPEND "\n")
  list(JOIN lines "" text)
  file(WRITE "${PROJECT_BINARY_DIR}/skipped.txt" "${text}")
endfunction()

# Writes targets.txt for scripts/check-layers: every target of a folder and those below it, with its
# own sources and what it links, as the CMakeLists.txt say it.
function(tandem_write_targets)
  tandem_describe_targets("${PROJECT_SOURCE_DIR}" text)
  file(WRITE "${PROJECT_BINARY_DIR}/targets.txt" "${text}")
endfunction()

function(tandem_describe_targets folder out)
  set(text "")
  get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(kind ${target} TYPE)
    string(APPEND text "target ${target} ${kind}\n")
    get_target_property(source_folder ${target} SOURCE_DIR)
    get_property(sources TARGET ${target} PROPERTY SOURCES)
    foreach(source IN LISTS sources)
      if(source MATCHES "TARGET_OBJECTS")
        string(APPEND text "link ${source}\n")
        continue()
      endif()
      get_filename_component(source "${source}" ABSOLUTE BASE_DIR "${source_folder}")
      file(RELATIVE_PATH source "${PROJECT_SOURCE_DIR}" "${source}")
      string(APPEND text "source ${source}\n")
    endforeach()
    foreach(property IN ITEMS LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
      get_property(links TARGET ${target} PROPERTY ${property})
      foreach(link IN LISTS links)
        string(APPEND text "link ${link}\n")
      endforeach()
    endforeach()
  endforeach()
  get_property(folders DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(below IN LISTS folders)
    tandem_describe_targets("${below}" more)
    string(APPEND text "${more}")
  endforeach()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()
