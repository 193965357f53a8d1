# SPDX-License-Identifier: MIT
# The front end: web/ built with node and npm, as a source that the program carries with it.
include_guard()

# Node of version 18 or later, npm, and the packages of the lock file; why not, in TANDEM_WEB_WHY.
function(tandem_find_web out)
  set(${out} FALSE PARENT_SCOPE)
  if(NOT TANDEM_BUILD_WEB)
    set(TANDEM_WEB_WHY "TANDEM_BUILD_WEB is off" PARENT_SCOPE)
    return()
  endif()
  find_program(TANDEM_NODE node)
  find_program(TANDEM_NPM npm)
  mark_as_advanced(TANDEM_NODE TANDEM_NPM)
  if(NOT TANDEM_NODE OR NOT TANDEM_NPM)
    set(TANDEM_WEB_WHY "node and npm were not found" PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND "${TANDEM_NODE}" --version OUTPUT_VARIABLE node_version
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  string(REGEX REPLACE "^v" "" node_version "${node_version}")
  if(node_version VERSION_LESS 18)
    set(TANDEM_WEB_WHY "node is ${node_version}, expected 18 or later" PARENT_SCOPE)
    return()
  endif()
  # npm writes the file at its end; it is older than the lock file where something is missing.
  set(web "${PROJECT_SOURCE_DIR}/web")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${web}/package-lock.json")
  set(installed "${web}/node_modules/.package-lock.json")
  if(NOT EXISTS "${installed}" OR "${web}/package-lock.json" IS_NEWER_THAN "${installed}")
    message(STATUS "npm ci: packages of the front end")
    execute_process(
      COMMAND "${TANDEM_NPM}" ci --no-audit --no-fund --loglevel=error WORKING_DIRECTORY "${web}"
      RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(NOT status EQUAL 0)
      message(STATUS "${said}")
      set(TANDEM_WEB_WHY "`npm ci` failed; is there a network" PARENT_SCOPE)
      return()
    endif()
    file(TOUCH "${installed}")
  endif()
  set(${out} TRUE PARENT_SCOPE)
endfunction()

# The source with the front end, or with none where `built` is false.
function(tandem_embed_web built out)
  set(source "${PROJECT_BINARY_DIR}/web/web_embedded.cc")
  set(embed "${PROJECT_SOURCE_DIR}/cmake/EmbedWeb.cmake")
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/web")
  if(built)
    set(web "${PROJECT_SOURCE_DIR}/web")
    set(files "${PROJECT_BINARY_DIR}/web/dist/app.js" "${PROJECT_BINARY_DIR}/web/dist/app.css")
    file(GLOB_RECURSE inputs CONFIGURE_DEPENDS "${web}/src/*")
    list(FILTER inputs EXCLUDE REGEX "\\.test\\.tsx?$")
    list(APPEND inputs "${web}/package.json" "${web}/package-lock.json" "${web}/vite.config.ts"
         "${web}/tsconfig.json")
    add_custom_command(
      OUTPUT ${files}
      COMMAND "${CMAKE_COMMAND}" -E env "TANDEM_WEB_OUT=${PROJECT_BINARY_DIR}/web/dist" "${TANDEM_NPM}"
              run --silent build
      WORKING_DIRECTORY "${web}"
      DEPENDS ${inputs}
      COMMENT "Building the front end"
      VERBATIM)
    list(GET files 0 script)
    list(GET files 1 style)
    add_custom_command(
      OUTPUT "${source}"
      COMMAND "${CMAKE_COMMAND}" "-DSCRIPT=${script}" "-DSTYLE=${style}" "-DOUT=${source}" -P
              "${embed}"
      DEPENDS ${files} "${embed}"
      COMMENT "Embedding the front end"
      VERBATIM)
  else()
    add_custom_command(
      OUTPUT "${source}"
      COMMAND "${CMAKE_COMMAND}" "-DOUT=${source}" -P "${embed}"
      DEPENDS "${embed}"
      VERBATIM)
  endif()
  set(${out} "${source}" PARENT_SCOPE)
endfunction()
