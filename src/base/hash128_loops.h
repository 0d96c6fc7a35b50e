// XXH3's loops, compiled once for each instruction set: hash128_loops.inc is the body of every
// variant, hash128.cc chooses one. Plain C types, so that nothing else is compiled with an
// instruction set that a machine may lack.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace interlude::hash_loops {

struct Halves {
  uint64_t high;
  uint64_t low;
};

/// Bytes of a state, which is aligned to 64.
inline constexpr size_t kStateBytes = 640;

/// All variants give the same bits, and each continues another's state.
struct Loops {
  const char* name;
  Halves (*hash)(const void* bytes, size_t size);
  void (*reset)(void* state);
  void (*update)(void* state, const void* bytes, size_t size);
  Halves (*digest)(const void* state);
};

extern const Loops kBaseline;  // what the whole program is compiled for
#if defined(__x86_64__)
extern const Loops kAvx2;
extern const Loops kAvx512;
#endif

/// The variants that this machine can run, from the slowest on; null after the last.
const Loops* Usable(size_t i);
/// The last of them.
const Loops& Best();

}  // namespace interlude::hash_loops
