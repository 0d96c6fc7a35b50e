// Options of the commands that use a saved model, and how they are handed on to interlude-worker.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace interlude {

struct SavedModelOptions {
  std::string model;
  std::vector<std::string> settings;
  int threads = 0;  // 0: the usable cores
};

/// MODEL
void AddModelOption(CLI::App& app, SavedModelOptions& options);
/// --set --threads
void AddSavedModelOptions(CLI::App& app, SavedModelOptions& options,
                          const std::string& threads_help);
/// All but MODEL, for the end of the command line's options.
void AppendSavedModelOptions(const SavedModelOptions& options, std::vector<std::string>& command);

}  // namespace interlude
