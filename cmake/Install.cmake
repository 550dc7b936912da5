# What `cmake --install` lays down: library, headers, command line, and a package for find_package(Reprise).
include(CMakePackageConfigHelpers)

set(reprise_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Reprise)

# An installed program finds libreprise.so beside itself, and both find libmlx.so where it was at link time. (CMake's
# INSTALL_RPATH_USE_LINK_PATH would leave that folder out when it lies in the source tree, as build/venv does.)
file(RELATIVE_PATH reprise_lib_from_bin /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
set_target_properties(reprise PROPERTIES INSTALL_RPATH "$ORIGIN;$<TARGET_FILE_DIR:mlx>;$<TARGET_FILE_DIR:DNNL::dnnl>")
set_target_properties(reprise_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${reprise_lib_from_bin};$<TARGET_FILE_DIR:mlx>")

install(TARGETS reprise EXPORT RepriseTargets)
install(TARGETS reprise_cli)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/reprise DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN *.hpp)
install(EXPORT RepriseTargets NAMESPACE Reprise:: DESTINATION ${reprise_package_dir})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/RepriseConfig.cmake.in ${PROJECT_BINARY_DIR}/RepriseConfig.cmake
                              INSTALL_DESTINATION ${reprise_package_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/RepriseConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/RepriseConfig.cmake ${PROJECT_BINARY_DIR}/RepriseConfigVersion.cmake
        DESTINATION ${reprise_package_dir})
