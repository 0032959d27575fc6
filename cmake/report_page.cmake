# Bundles web/ into one HTML text and embeds it as a C++ source: plimsoll_report_page(TARGET).
#
# The packages are those of web/package-lock.json, installed into the build tree when it is configured, once for each
# state of the lock file. Without Node.js and npm, or where the packages can't be fetched, the program is built without
# the page, and `report -o html` says so.
option(PLIMSOLL_WEB "Build the report page (needs Node.js and npm)" ON)

function(plimsoll_report_page target)
  set(source_dir ${PROJECT_SOURCE_DIR}/web)
  set(work_dir ${PROJECT_BINARY_DIR}/web)
  set(page_source ${work_dir}/report_page.cc)
  find_program(PLIMSOLL_NODE NAMES node nodejs)
  find_program(PLIMSOLL_NPM npm)

  set(without "")
  if(NOT PLIMSOLL_WEB)
    set(without "PLIMSOLL_WEB is off")
  elseif(NOT PLIMSOLL_NODE OR NOT PLIMSOLL_NPM)
    set(without "Node.js and npm are not found")
  else()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source_dir}/package-lock.json)
    file(SHA256 ${source_dir}/package-lock.json lock)
    set(installed "")
    if(EXISTS ${work_dir}/installed.lock)
      file(READ ${work_dir}/installed.lock installed)
    endif()
    if(NOT installed STREQUAL lock)
      message(STATUS "Installing the packages of the report page")
      file(COPY ${source_dir}/package.json ${source_dir}/package-lock.json ${source_dir}/.npmrc DESTINATION ${work_dir})
      execute_process(COMMAND ${PLIMSOLL_NPM} ci --ignore-scripts --no-fund --no-audit --loglevel=error
                      WORKING_DIRECTORY ${work_dir} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET TIMEOUT 300)
      if(failed)
        set(without "npm ci failed (${failed})")
      else()
        file(WRITE ${work_dir}/installed.lock ${lock})
      endif()
    endif()
  endif()

  if(without)
    message(STATUS "The report page is left out: ${without}")
    file(CONFIGURE OUTPUT ${work_dir}/no_report_page.cc @ONLY CONTENT
      "#include \"report/report_page.h\"\n\nnamespace plimsoll::report {\nstd::string_view report_page() { return {}; }\n}\n")
    target_sources(${target} PRIVATE ${work_dir}/no_report_page.cc)
    return()
  endif()

  file(GLOB web_sources CONFIGURE_DEPENDS ${source_dir}/src/* ${source_dir}/*.mjs ${source_dir}/*.json)
  add_custom_command(
    OUTPUT ${page_source}
    COMMAND ${CMAKE_COMMAND} -E rm -rf src
    COMMAND ${CMAKE_COMMAND} -E copy_directory ${source_dir}/src src
    COMMAND ${CMAKE_COMMAND} -E copy ${source_dir}/build.mjs ${source_dir}/tsconfig.json .
    COMMAND ${PLIMSOLL_NODE} build.mjs report_page.html report_page.cc
    DEPENDS ${web_sources}
    WORKING_DIRECTORY ${work_dir}
    COMMENT "Bundling the report page"
    VERBATIM)
  target_sources(${target} PRIVATE ${page_source})

  if(PLIMSOLL_TESTS)
    add_test(NAME web.types COMMAND ${PLIMSOLL_NODE} node_modules/typescript/bin/tsc --noEmit WORKING_DIRECTORY ${work_dir})
  endif()
endfunction()
