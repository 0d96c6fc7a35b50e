// The command line of `interlude evaluate`, which becomes `interlude-worker evaluate`: LibTorch is
// there.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace interlude {

struct EvaluateOptions {
  std::string model;
  std::vector<std::string> settings;
  std::string data;  // directory; empty: as the model's run
  int threads = 0;   // 0: the usable cores
  bool json = false;
};

/// MODEL --data --set --threads --json
void AddEvaluateOptions(CLI::App& app, EvaluateOptions& options);
/// The command line of `program` that gives these options.
std::vector<std::string> EvaluateCommand(const std::string& program,
                                         const EvaluateOptions& options);

}  // namespace interlude
