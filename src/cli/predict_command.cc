// interlude predict: what a saved model sees on pictures. Becomes interlude-worker predict, which
// has LibTorch.
#include <memory>

#include "cli/become_worker.h"
#include "cli/commands.h"
#include "cli/predict_options.h"

namespace interlude {

void AddPredictCommand(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<PredictCommandOptions>();
  CLI::App* command = app.add_subcommand("predict", "What a saved model sees on pictures");
  AddPredictOptions(*command, *options);
  command->callback([options, &chosen] {
    chosen = [options] {
      return BecomeWorkerProgram(
          [&](const std::string& program) { return PredictCommand(program, *options); });
    };
  });
}

}  // namespace interlude
