# bin/engine, lib/libengine.so, include/engine/{engine,generate}.h, and a CMake package for
#   find_package(engine REQUIRED)   target_link_libraries(app engine::engine)
# oneDNN comes along in lib/engine; everything finds it by $ORIGIN, also after the prefix has moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_FULL_BINDIR}
           OUTPUT_VARIABLE lib_from_bin)
set(private_dir ${CMAKE_INSTALL_LIBDIR}/engine)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/engine)

if(TARGET engine)
  set_target_properties(engine PROPERTIES INSTALL_RPATH "$ORIGIN/${lib_from_bin}/engine")
  install(TARGETS engine RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
set_target_properties(engine_shared PROPERTIES INSTALL_RPATH "$ORIGIN/engine")
install(TARGETS engine_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES runtime/engine.h runtime/generate.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/engine)
# What engine.h includes. It is found relative to engine.h, so it must include nothing of ours itself.
install(FILES ir/dtype.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/engine/ir)

# The wheel holds three full copies instead of links: install the one named by the SONAME.
get_target_property(dnnl_library DNNL::dnnl IMPORTED_LOCATION_RELEASE)
get_target_property(dnnl_soname DNNL::dnnl IMPORTED_SONAME_RELEASE)
cmake_path(IS_PREFIX ENGINE_VENV "${dnnl_library}" dnnl_is_ours)
if(dnnl_is_ours)
  install(PROGRAMS ${dnnl_library} DESTINATION ${private_dir} RENAME ${dnnl_soname})
endif()

configure_package_config_file(cmake/engineConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/engineConfig.cmake INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/engineConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/engineConfig.cmake
              ${PROJECT_BINARY_DIR}/package/engineConfigVersion.cmake DESTINATION ${package_dir})
