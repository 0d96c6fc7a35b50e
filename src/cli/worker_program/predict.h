// interlude-worker predict: what a saved model sees on pictures.
#pragma once

#include "cli/predict_options.h"

namespace interlude {

/// Prints to stdout, and to stderr what could not be read; returns the exit status.
int PredictFiles(const PredictCommandOptions& options);

}  // namespace interlude
