# What `cmake --install` puts where: the programs, the headers for others' code, and, with LibTorch,
# the library and the CMake package for worker programs with models of their own.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS interlude interlude-worker)
install(DIRECTORY "${CMAKE_SOURCE_DIR}/include/interlude" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES "${CMAKE_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

if(INTERLUDE_TRAIN)
  target_include_directories(interlude_worker_library INTERFACE
                             "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_compile_features(interlude_worker_library INTERFACE cxx_std_17)
  install(TARGETS interlude_worker_library EXPORT interludeTargets)
  set(package "${CMAKE_INSTALL_LIBDIR}/cmake/interlude")
  install(EXPORT interludeTargets NAMESPACE interlude:: DESTINATION "${package}")
  configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/interludeConfig.cmake.in"
                                "${CMAKE_BINARY_DIR}/interludeConfig.cmake"
                                INSTALL_DESTINATION "${package}")
  write_basic_package_version_file("${CMAKE_BINARY_DIR}/interludeConfigVersion.cmake"
                                   COMPATIBILITY ExactVersion)
  install(FILES "${CMAKE_BINARY_DIR}/interludeConfig.cmake"
                "${CMAKE_BINARY_DIR}/interludeConfigVersion.cmake" DESTINATION "${package}")
endif()
