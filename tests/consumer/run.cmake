# SPDX-License-Identifier: MIT
# Builds and runs README's first C++ example as somebody else's project would.
#   way=installed     against an install of build_dir, moved after the install: it must not matter;
#                     and examples/c_client.c in a project in C alone
#   way=subdirectory  through add_subdirectory, as a static library; then against an install of that
#   way=torch         examples/torch_train.cc against the component torch of an install
# The other variables are those that tests/CMakeLists.txt gives.

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "Failed (${result}): ${command}")
  endif()
endfunction()

# Writes the first ```cpp block of README.md to a file.
function(extract_example file)
  file(READ "${source_dir}/README.md" text)
  set(fence "\n```cpp\n")
  string(FIND "${text}" "${fence}" begin)
  if(begin EQUAL -1)
    message(FATAL_ERROR "README.md has no ```cpp block to compile")
  endif()
  string(LENGTH "${fence}" fence_length)
  math(EXPR begin "${begin} + ${fence_length}")
  string(SUBSTRING "${text}" ${begin} -1 text)
  string(FIND "${text}" "\n```" end)
  string(SUBSTRING "${text}" 0 ${end} text)
  file(WRITE "${file}" "${text}\n")
endfunction()

# build(PROJECT [CMAKE_ARGUMENT...]): the consumer in work_dir/PROJECT, and a run of it.
function(build project)
  set(dir "${work_dir}/${project}")
  file(COPY "${source_dir}/tests/consumer/CMakeLists.txt" DESTINATION "${dir}")
  if(way STREQUAL "torch")
    file(COPY_FILE "${source_dir}/examples/torch_train.cc" "${dir}/main.cc.new")
  else()
    extract_example("${dir}/main.cc.new")
  endif()
  file(COPY_FILE "${dir}/main.cc.new" "${dir}/main.cc" ONLY_IF_DIFFERENT)
  run("${CMAKE_COMMAND}" -S "${dir}" -B "${dir}/build" -G "${generator}"
      "-DCMAKE_CXX_COMPILER=${compiler}" "-DCMAKE_CXX_FLAGS=${flags}"
      "-DCMAKE_BUILD_TYPE=${build_type}" ${ARGN})
  run("${CMAKE_COMMAND}" --build "${dir}/build" --parallel 2)
  run("${dir}/build/consumer")
endfunction()

# check_install(BUILD_DIR [CMAKE_ARGUMENT...]): installs to one place, moves that to another and uses it there.
function(check_install from)
  file(REMOVE_RECURSE "${work_dir}/first" "${work_dir}/prefix" "${work_dir}/found")
  run("${CMAKE_COMMAND}" --install "${from}" --prefix "${work_dir}/first")
  file(RENAME "${work_dir}/first" "${work_dir}/prefix")
  build(found "-DCMAKE_PREFIX_PATH=${work_dir}/prefix" "-DTANDEM_VERSION=${version}" ${ARGN})
  if(EXISTS "${work_dir}/prefix/bin/tandem")
    run("${work_dir}/prefix/bin/tandem" --version)
  endif()
endfunction()

# The same for a project that knows no C++, where there is a C compiler.
function(build_c)
  find_program(c_compiler NAMES cc gcc clang)
  if(NOT c_compiler)
    message(STATUS "no C compiler: examples/c_client.c is left out")
    return()
  endif()
  set(dir "${work_dir}/c")
  file(COPY "${source_dir}/tests/consumer/c/CMakeLists.txt" "${source_dir}/examples/c_client.c"
       DESTINATION "${dir}")
  run("${CMAKE_COMMAND}" -S "${dir}" -B "${dir}/build" -G "${generator}"
      "-DCMAKE_C_COMPILER=${c_compiler}" "-DCMAKE_PREFIX_PATH=${work_dir}/prefix")
  run("${CMAKE_COMMAND}" --build "${dir}/build")
  run("${dir}/build/c_client" diag-to)
endfunction()

if(way STREQUAL "installed")
  check_install("${build_dir}")
  build_c()
elseif(way STREQUAL "torch")
  check_install("${build_dir}" -DWITH_TORCH=ON)
else()
  build(inside "-DTANDEM_SOURCE_DIR=${source_dir}" -DTANDEM_INSTALL=ON "-DTANDEM_WERROR=${werror}")
  check_install("${work_dir}/inside/build")
endif()
