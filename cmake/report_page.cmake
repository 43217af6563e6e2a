# cmake -DPARTS=FOLDER -DCHART_JS=FILE -DOUTPUT=FILE.cpp -P report_page.cmake: the page of reports as one string.
# Styles and scripts are joined in the order that they are named in here.
cmake_minimum_required(VERSION 3.25)

set(styles colours.css style.css tables.css media.css)
set(scripts format.js elements.js tables.js charts.js share_section.js parts_section.js roofline_section.js sweep_section.js
  plan_section.js title_section.js guideline_section.js workload_section.js basis_sections.js page.js)

function(join_files result)
  set(joined "")
  foreach(name IN LISTS ARGN)
    file(READ ${PARTS}/${name} text)
    string(APPEND joined "${text}")
  endforeach()
  set(${result} "${joined}" PARENT_SCOPE)
endfunction()

join_files(style ${styles})
join_files(script ${scripts})
file(READ ${PARTS}/page.html page)
file(READ ${PARTS}/chart_js_license.txt license)
file(READ ${CHART_JS} chart_js)

string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
string(REPLACE "@CHART_JS@" "/*\n${license}*/\n${chart_js}" page "${page}")
foreach(text IN ITEMS "${style}" "${script}" "${chart_js}")
  if(text MATCHES "</(script|style)|<!--|\\)headwise\"")
    message(FATAL_ERROR "a part of the report's page contains ${CMAKE_MATCH_0}, which would end it")
  endif()
endforeach()
file(WRITE ${OUTPUT} "#include \"advisor/report/report_page.h\"

namespace headwise {
const std::string_view report_page = R\"headwise(${page})headwise\";
}  // namespace headwise
")
