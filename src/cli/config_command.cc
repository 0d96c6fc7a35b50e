// interlude config: every key of a run's TOML file, or what a file comes to.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/run_options.h"

namespace interlude {
namespace {

struct ConfigCommandOptions {
  bool show_defaults = false;
  ConfigOptions config;
};

Status CheckCombination(const ConfigCommandOptions& options) {
  const bool check = !options.config.path.empty();
  if (options.show_defaults == check) {
    return InvalidArgumentError("give either --show-defaults or --check FILE");
  }
  if (options.show_defaults && !options.config.settings.empty()) {
    return InvalidArgumentError("--set changes a file's configuration; give it with --check FILE");
  }
  return OkStatus();
}

int Run(const ConfigCommandOptions& options) {
  const Status combination = CheckCombination(options);
  if (!combination.ok()) return Fail(combination, kExitUsage);
  RunConfig config;
  if (!options.show_defaults) {
    auto loaded = LoadRunConfig(options.config);
    if (!loaded.ok()) return Fail(loaded.status(), kExitUsage);
    config = *std::move(loaded);
  }
  fmt::print("{}", FormatRunConfig(config));
  return kExitOk;
}

}  // namespace

void AddConfigCommand(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<ConfigCommandOptions>();
  CLI::App* command =
      app.add_subcommand("config", "Every key of a run's TOML file, or what a file comes to");
  command->add_flag("--show-defaults", options->show_defaults,
                    "Print every key with its comment, range and default");
  command
      ->add_option("--check", options->config.path,
                   "Read the file: print what it comes to, or its error")
      ->type_name("FILE");
  AddSettingsOption(*command, options->config.settings);
  command->footer(
      "Examples:\n  interlude config --show-defaults\n"
      "  interlude config --check run.toml --set round.codec=fp32 --set round.rounds=3");
  command->callback([options, &chosen] { chosen = [options] { return Run(*options); }; });
}

}  // namespace interlude
