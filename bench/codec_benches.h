// What the codec's benchmarks run and how each result is checked. No timing here.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/bench_arrays.h"

namespace interlude {

/// What is wrong with a result, or nothing.
using Finding = std::optional<std::string>;

/// One line of the table.
struct Bench {
  std::string name;
  std::function<size_t(BenchArrays&)> bytes;   // read and written by a pass
  std::function<bool(BenchArrays&)> pass;      // false: it reports an error itself
  std::function<Finding(BenchArrays&)> check;  // may run another pass
  std::string baseline;  // name of an earlier one that moves the same bytes; empty: none
};

/// In the order of the table, for a codec with blocks.
///
/// Bytes are counted by what the task needs, not by what the memory bus carries: each input byte
/// once, each output byte once, and both for what is updated in place. Of n values an fp32 array is
/// 4n bytes, a q4 payload 17/32 n and a q8 payload 33/32 n. memcpy reads and writes: 8n.
std::vector<Bench> CodecBenches(Codec codec);

}  // namespace interlude
