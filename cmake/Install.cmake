# What `cmake --install` puts where: the programs, the headers for others' code, and, with LibTorch,
# the library and the CMake package for worker programs with models of their own.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# All that is installed, to be built by one name.
add_custom_target(installed DEPENDS interlude interlude-worker tun_link interlude_held_models)

install(TARGETS interlude interlude-worker tun_link)
# interlude repro: its runner and scenarios look for each other as in a checkout.
install(TARGETS interlude_held_models DESTINATION lib)
install(DIRECTORY "${CMAKE_SOURCE_DIR}/repro" "${CMAKE_SOURCE_DIR}/tools" "${CMAKE_SOURCE_DIR}/examples"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/interlude"
        FILES_MATCHING REGEX "/(repro/[a-z0-9_]+\\.(py|toml)|repro/runner/[a-z_]+\\.py|tools/results_section\\.py|tools/faults/[a-z_]+\\.py|examples/synthetic\\.toml)$"
        PATTERN "*_test.py" EXCLUDE)
install(DIRECTORY "${CMAKE_SOURCE_DIR}/include/interlude" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES "${CMAKE_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

if(INTERLUDE_TRAIN)
  add_dependencies(installed interlude_worker_library)
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
