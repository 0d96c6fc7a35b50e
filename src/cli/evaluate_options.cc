#include "cli/evaluate_options.h"

namespace interlude {

void AddEvaluateOptions(CLI::App& app, EvaluateOptions& options) {
  AddModelOption(app, options);
  app.add_option("--data", options.data,
                 "Directory of the data set, where it is another than in the model's run")
      ->type_name("DIR");
  AddSavedModelOptions(app, options, "Threads; without it the usable cores");
  app.add_flag("--json", options.json, "One line of JSON with every class and every confused pair");
  app.footer(
      "Model, data set and normalisation are those of the run, which the file tells.\n\n"
      "Example:\n  interlude evaluate runs/first/model-best.safetensors");
}

std::vector<std::string> EvaluateCommand(const std::string& program,
                                         const EvaluateOptions& options) {
  std::vector<std::string> command = {program, "evaluate"};
  if (!options.data.empty()) command.insert(command.end(), {"--data", options.data});
  AppendSavedModelOptions(options, command);
  if (options.json) command.emplace_back("--json");
  command.insert(command.end(), {"--", options.model});  // whatever it begins with
  return command;
}

}  // namespace interlude
