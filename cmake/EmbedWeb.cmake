# SPDX-License-Identifier: MIT
# cmake -DSCRIPT=app.js -DSTYLE=app.css -DOUT=web_embedded.cc -P EmbedWeb.cmake: a source with the
# texts of the front end; without SCRIPT, with none.

# Constants of 16000 bytes: compilers need not bear longer ones.
function(constant out file)
  set(text "")
  if(file)
    file(READ "${file}" hex HEX)
    string(LENGTH "${hex}" length)
    set(at 0)
    while(at LESS length)
      string(SUBSTRING "${hex}" ${at} 32000 part)
      string(REGEX REPLACE "(..)" "\\\\x\\1" part "${part}")
      string(APPEND text "    \"${part}\"\n")
      math(EXPR at "${at} + 32000")
    endwhile()
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# It will stand inside a page: nothing in it may end its element.
if(SCRIPT)
  file(READ "${SCRIPT}" text)
  string(TOLOWER "${text}" text)
  if(text MATCHES "</script|<!--")
    message(FATAL_ERROR "${SCRIPT}: found '${CMAKE_MATCH_0}', which ends the element of a script")
  endif()
endif()

constant(script "${SCRIPT}")
constant(style "${STYLE}")
file(WRITE "${OUT}.new" "#include \"report/web_assets.h\"

namespace tandem::report {

std::string_view web_script() {
  static constexpr char kText[] =
${script}    \"\";
  return {kText, sizeof kText - 1};
}

std::string_view web_style() {
  static constexpr char kText[] =
${style}    \"\";
  return {kText, sizeof kText - 1};
}

}  // namespace tandem::report
")
file(RENAME "${OUT}.new" "${OUT}")
