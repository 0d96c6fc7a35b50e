#include "cli/saved_model_options.h"

#include "cli/run_options.h"

namespace interlude {

void AddModelOption(CLI::App& app, SavedModelOptions& options) {
  app.add_option("MODEL", options.model,
                 "A model.safetensors that a run has saved; of a run's directory its best model")
      ->type_name("MODEL")
      ->required();
}

void AddSavedModelOptions(CLI::App& app, SavedModelOptions& options,
                          const std::string& threads_help) {
  AddSettingsOption(app, options.settings)->allow_extra_args(false);
  AddThreadsOption(app, options.threads, threads_help);
}

void AppendSavedModelOptions(const SavedModelOptions& options, std::vector<std::string>& command) {
  for (const std::string& setting : options.settings)
    command.insert(command.end(), {"--set", setting});
  if (options.threads > 0)
    command.insert(command.end(), {"--threads", std::to_string(options.threads)});
}

}  // namespace interlude
