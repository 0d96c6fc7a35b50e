// Gives a model its first parameters: those of the seed, or pretrained ones where the configuration
// names them. One thread.
#pragma once

#include "base/status.h"
#include "config/run_config.h"
#include "train/flat_parameters.h"

namespace interlude {

enum class FirstParameters {
  kMade,          // they are what the configuration says
  kToBeReplaced,  // config.model.pretrained is not on this machine: they are the seed's, and are to
                  // be replaced by another worker's
};

/// Fills `parameters`, laid out by ModelLayout(config), and logs what became of pretrained weights.
/// Holds one tensor besides them at most. Errors as PretrainedWeights.
StatusOr<FirstParameters> FillFirstParameters(const RunConfig& config, FlatParameters& parameters);

}  // namespace interlude
