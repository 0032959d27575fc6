# Installation and packages: the program with its other name zb, manual, completions, a Debian package.

# The manual page and the completions are drawn from the option tables, by the program itself.
set(plimsoll_documents ${PROJECT_BINARY_DIR}/documents)
add_custom_command(
  OUTPUT ${plimsoll_documents}/plimsoll.1 ${plimsoll_documents}/plimsoll.bash ${plimsoll_documents}/_plimsoll
         ${plimsoll_documents}/plimsoll.fish
  COMMAND ${CMAKE_COMMAND} -E make_directory ${plimsoll_documents}
  COMMAND plimsoll man > ${plimsoll_documents}/plimsoll.1
  COMMAND plimsoll completion bash > ${plimsoll_documents}/plimsoll.bash
  COMMAND plimsoll completion zsh > ${plimsoll_documents}/_plimsoll
  COMMAND plimsoll completion fish > ${plimsoll_documents}/plimsoll.fish
  DEPENDS plimsoll VERBATIM)
add_custom_target(documents ALL DEPENDS ${plimsoll_documents}/plimsoll.1)

install(FILES ${plimsoll_documents}/plimsoll.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${plimsoll_documents}/plimsoll.bash RENAME plimsoll
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${plimsoll_documents}/_plimsoll DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${plimsoll_documents}/plimsoll.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES README.md LICENSE docs/measurement.md docs/terminology.md docs/result.schema.json
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(CODE "file(CREATE_LINK plimsoll \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/zb\" SYMBOLIC)")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME plimsoll)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The Plimsoll founders <founders@plimsoll.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "gnuplot-nox")
include(CPack)
