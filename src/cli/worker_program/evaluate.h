// interlude-worker evaluate: scores a saved model on a test set.
#pragma once

#include "cli/evaluate_options.h"

namespace interlude {

/// Prints to stdout; returns the exit status.
int EvaluateSavedModel(const EvaluateOptions& options);

}  // namespace interlude
