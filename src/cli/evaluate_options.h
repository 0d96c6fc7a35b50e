// The command line of `interlude evaluate`, which becomes `interlude-worker evaluate`: LibTorch is
// there.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/saved_model_options.h"

namespace interlude {

struct EvaluateOptions : SavedModelOptions {
  std::string data;  // directory; empty: as the model's run
  bool json = false;
};

/// MODEL --data --set --threads --json
void AddEvaluateOptions(CLI::App& app, EvaluateOptions& options);
/// The command line of `program` that gives these options.
std::vector<std::string> EvaluateCommand(const std::string& program,
                                         const EvaluateOptions& options);

}  // namespace interlude
