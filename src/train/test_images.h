// A run on a data set of small made-up images, for tests of trainers.
#pragma once

#include "config/run_config.h"

namespace interlude {

inline constexpr uint32_t kTinyImageSide = 8;
inline constexpr uint32_t kTinyTestImages = 61;

/// Writes the data set below the test's own folder and describes a run that learns it: six rounds
/// of five local steps of 20 samples, chunks of 64 parameters.
RunConfig TinyImageRun(ModelKind kind);

}  // namespace interlude
