# The report page: tools/build_page.py puts src/report/page/ and D3 together into one document, which
# becomes part of the program. Sets INTERLUDE_PAGE_SOURCE (C++) and the global property
# INTERLUDE_PAGE_HTML (the document with its gaps, which tests/page_test.py fills). Nothing is fetched.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_program(INTERLUDE_ESBUILD esbuild REQUIRED)
find_file(INTERLUDE_D3 d3.min.js PATHS /usr/share/javascript/d3 REQUIRED
          DOC "D3 3.5 (libjs-d3)")

set(page_dir "${CMAKE_SOURCE_DIR}/src/report/page")
file(GLOB page_files CONFIGURE_DEPENDS "${page_dir}/*")
set(INTERLUDE_PAGE_HTML "${CMAKE_CURRENT_BINARY_DIR}/report_page.html")
set(INTERLUDE_PAGE_SOURCE "${CMAKE_CURRENT_BINARY_DIR}/report_page.cc")
set_property(GLOBAL PROPERTY INTERLUDE_PAGE_HTML "${INTERLUDE_PAGE_HTML}")
add_custom_command(
  OUTPUT "${INTERLUDE_PAGE_HTML}" "${INTERLUDE_PAGE_SOURCE}"
  COMMAND Python3::Interpreter "${CMAKE_SOURCE_DIR}/tools/build_page.py" --page "${page_dir}" --d3 "${INTERLUDE_D3}"
          --d3-license "${page_dir}/d3-license.txt" --esbuild "${INTERLUDE_ESBUILD}"
          --html "${INTERLUDE_PAGE_HTML}" --cpp "${INTERLUDE_PAGE_SOURCE}"
  DEPENDS ${page_files} "${CMAKE_SOURCE_DIR}/tools/build_page.py" "${INTERLUDE_D3}"
  COMMENT "Putting the report page together"
  VERBATIM)
