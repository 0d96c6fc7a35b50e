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

int Run(const ConfigCommandOptions& options) {
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
  CLI::App* what = command->add_option_group("What to show");
  what->add_flag("--show-defaults", options->show_defaults,
                 "Every key with its comment, range and default");
  CLI::Option* check = what->add_option("--check", options->config.path,
                                        "Read the file: print what it comes to, or its error");
  check->type_name("FILE");
  what->require_option(1);
  AddSettingsOption(*command, options->config.settings);
  command->get_option("--set")->needs(check);
  command->footer(
      "Examples:\n  interlude config --show-defaults\n"
      "  interlude config --check run.toml --set round.codec=fp32 --set round.rounds=3");
  command->callback([options, &chosen] { chosen = [options] { return Run(*options); }; });
}

}  // namespace interlude
