// The benchmarks of decoding and of merging by each rule. No timing here.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/codec_benches.h"

namespace interlude {

/// For so many contributors, at most kMostBenchContributors: the average alone; the whole merge
/// with Nesterov, without and with hashes; and by the rules against bad updates, beside the plain
/// mean.
std::vector<Bench> MergeBenches(size_t contributors);

}  // namespace interlude
