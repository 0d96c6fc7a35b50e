// XXH3 for AVX2: CMakeLists.txt gives this file its compiler flags.
#define INTERLUDE_LOOPS kAvx2
#define INTERLUDE_LOOPS_NAME "AVX2"
#include "base/hash128_loops.inc"
