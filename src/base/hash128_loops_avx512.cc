// XXH3 for AVX-512: CMakeLists.txt gives this file its compiler flags.
#define INTERLUDE_LOOPS kAvx512
#define INTERLUDE_LOOPS_NAME "AVX-512"
#include "base/hash128_loops.inc"
