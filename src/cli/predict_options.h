// The command line of `interlude predict`, which becomes `interlude-worker predict`: LibTorch is
// there.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/saved_model_options.h"

namespace interlude {

struct PredictCommandOptions : SavedModelOptions {
  std::vector<std::string> files;  // or folders; "-": a list on stdin
  uint32_t top = 5;
  uint32_t batch = 0;  // 0: not given
  bool json = false;
  bool csv = false;
};

/// MODEL FILE... --top --batch --threads --set --json --csv
void AddPredictOptions(CLI::App& app, PredictCommandOptions& options);
/// The command line of `program` that gives these options.
std::vector<std::string> PredictCommand(const std::string& program,
                                        const PredictCommandOptions& options);

}  // namespace interlude
