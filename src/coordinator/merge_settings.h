// The configuration's words for how chunks are exchanged and merged, as the types of codec/ and
// optim/.
#pragma once

#include "codec/chunk_codec.h"
#include "config/run_config.h"
#include "optim/merge.h"
#include "optim/outer_optimizer.h"

namespace interlude {

Codec CodecOf(const RunConfig& config);
MergeOptions MergeOptionsOf(const RunConfig& config);
OuterOptimizerOptions OuterOptimizerOf(const RunConfig& config);

}  // namespace interlude
