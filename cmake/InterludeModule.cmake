# interlude_module(name SOURCES ... [INTERLUDE_DEPS modules...] [LIBS libraries...] [PRIVATE_LIBS ...])
#   A static library interlude_<name> made of the given sources. INTERLUDE_DEPS are the modules it may
#   include; tools/check_includes.py holds the same table and fails CI where the two disagree.
# interlude_test(name SOURCES ... DEPS modules... [LIBS ...] [WHOLE] [LABELS ...])
#   A GoogleTest program. Each test becomes a ctest test, or with WHOLE the program is one test
#   (for programs whose start is expensive, like those that load LibTorch).

add_library(interlude_options INTERFACE)
target_include_directories(interlude_options INTERFACE "${CMAKE_SOURCE_DIR}/src")
# Fusing a*b+c changes bits between machines; every copy of the model must stay bit-identical.
target_compile_options(interlude_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor
                       -Wno-missing-field-initializers -ffp-contract=off)
# gcc 12 sees overlapping copies inside std::string that are not there (its bug 105651).
target_compile_options(interlude_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(INTERLUDE_WERROR)
  target_compile_options(interlude_options INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(interlude_options INTERFACE -Wthread-safety)
endif()
if(INTERLUDE_SANITIZE)
  # gcc 12 takes unused parts of abseil's inlined vectors for used ones when it adds checks to them.
  target_compile_options(interlude_options INTERFACE
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_compile_options(interlude_options INTERFACE -fsanitize=${INTERLUDE_SANITIZE}
                         -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(interlude_options INTERFACE -fsanitize=${INTERLUDE_SANITIZE})
endif()

if(INTERLUDE_FUZZ)
  # So that libFuzzer sees which code an input reaches; the programs themselves link it.
  target_compile_options(interlude_options INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(interlude_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_program(INTERLUDE_CCACHE ccache)
if(INTERLUDE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND};-E;env;CCACHE_BASEDIR=${CMAKE_SOURCE_DIR};CCACHE_NOHASHDIR=1;${INTERLUDE_CCACHE}")
endif()
find_program(INTERLUDE_MOLD mold)
if(INTERLUDE_MOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_link_options(-fuse-ld=mold)
endif()

function(interlude_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;INTERLUDE_DEPS;LIBS;PRIVATE_LIBS" ${ARGN})
  add_library(interlude_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(interlude_${name} PUBLIC interlude_options)
  foreach(dep IN LISTS ARG_INTERLUDE_DEPS)
    target_link_libraries(interlude_${name} PUBLIC interlude_${dep})
  endforeach()
  target_link_libraries(interlude_${name} PUBLIC ${ARG_LIBS} PRIVATE ${ARG_PRIVATE_LIBS})
endfunction()

function(interlude_test name)
  cmake_parse_arguments(ARG "WHOLE" "TIMEOUT" "SOURCES;DEPS;LIBS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  foreach(dep IN LISTS ARG_DEPS)
    target_link_libraries(${name} PRIVATE interlude_${dep})
  endforeach()
  target_link_libraries(${name} PRIVATE interlude_options ${ARG_LIBS} GTest::gmock GTest::gtest_main)
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(ARG_WHOLE)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
  else()
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
                         PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
  endif()
endfunction()
