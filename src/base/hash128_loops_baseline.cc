// XXH3 as the whole program is compiled.
#define INTERLUDE_LOOPS kBaseline
#define INTERLUDE_LOOPS_NAME "baseline"
#include "base/hash128_loops.inc"
