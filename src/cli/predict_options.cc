#include "cli/predict_options.h"

namespace interlude {

void AddPredictOptions(CLI::App& app, PredictCommandOptions& options) {
  AddModelOption(app, options);
  app.add_option("FILE", options.files,
                 "Pictures; folders, of which all pictures below are taken; -: a list of both on "
                 "standard input, a line each or between zero bytes")
      ->type_name("FILE")
      ->required();
  app.add_option("--top", options.top, "How many classes to name, the likeliest first")
      ->type_name("K")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000).description(""));
  app.add_option("--batch", options.batch,
                 "Pictures that are computed at once; without it 250, fewer of large ones")
      ->type_name("N")
      ->check(CLI::Range(1, 65536).description(""));
  AddSavedModelOptions(app, options,
                       "Threads that compute, and that decode; without it the usable cores");
  CLI::Option* json = app.add_flag("--json", options.json, "A JSON object a line for each file");
  app.add_flag("--csv", options.csv, "A line for each file")->excludes(json);
  app.footer(
      "Decoding, middle and normalisation are those of the run's evaluations, which the file "
      "tells.\n"
      "A file that cannot be read is named on standard error and left out; exit status 3 says "
      "that there was one.\n\n"
      "Example:\n  interlude predict runs/first holiday.jpg photos/\n"
      "  find photos -name '*.jpg' -print0 | interlude predict --json --top 1 runs/first -");
}

std::vector<std::string> PredictCommand(const std::string& program,
                                        const PredictCommandOptions& options) {
  std::vector<std::string> command = {program, "predict", "--top", std::to_string(options.top)};
  if (options.batch > 0) command.insert(command.end(), {"--batch", std::to_string(options.batch)});
  AppendSavedModelOptions(options, command);
  if (options.json) command.emplace_back("--json");
  if (options.csv) command.emplace_back("--csv");
  command.insert(command.end(), {"--", options.model});  // whatever it begins with
  command.insert(command.end(), options.files.begin(), options.files.end());
  return command;
}

}  // namespace interlude
