# Installation: the library with its headers, the command, a CMake package and a pkg-config file. Both descriptions find
# everything relative to themselves, so the installed folder can be moved.
include(CMakePackageConfigHelpers)

install(TARGETS tilewright EXPORT Tilewright ARCHIVE FILE_SET HEADERS)
install(TARGETS tilewright_command RUNTIME)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Tilewright")
install(EXPORT Tilewright FILE TilewrightTargets.cmake NAMESPACE Tilewright:: DESTINATION "${package_dir}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/TilewrightConfig.cmake.in"
                              "${PROJECT_BINARY_DIR}/package/TilewrightConfig.cmake"
                              INSTALL_DESTINATION "${package_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/TilewrightConfigVersion.cmake"
                                 COMPATIBILITY SameMajorVersion)
install(FILES "${PROJECT_BINARY_DIR}/package/TilewrightConfig.cmake"
              "${PROJECT_BINARY_DIR}/package/TilewrightConfigVersion.cmake" DESTINATION "${package_dir}")

set(pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
foreach(kind IN ITEMS LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${kind}}")
    message(FATAL_ERROR "CMAKE_INSTALL_${kind} is \"${CMAKE_INSTALL_${kind}}\": give a path relative to the prefix, "
                        "so that the installed folder can be moved.")
  endif()
endforeach()
file(RELATIVE_PATH pkgconfig_to_prefix "/prefix/${pkgconfig_dir}" "/prefix")
configure_file("${PROJECT_SOURCE_DIR}/cmake/tilewright.pc.in" "${PROJECT_BINARY_DIR}/package/tilewright.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/package/tilewright.pc" DESTINATION "${pkgconfig_dir}")
