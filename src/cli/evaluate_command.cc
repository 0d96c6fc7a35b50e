// interlude evaluate: how right a saved model is, as a whole and by class. Becomes
// interlude-worker evaluate, which has LibTorch.
#include <memory>

#include "cli/become_worker.h"
#include "cli/commands.h"
#include "cli/evaluate_options.h"

namespace interlude {

void AddEvaluateCommand(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<EvaluateOptions>();
  CLI::App* command = app.add_subcommand("evaluate", "How right a saved model is, class by class");
  AddEvaluateOptions(*command, *options);
  command->callback([options, &chosen] {
    chosen = [options] {
      return BecomeWorkerProgram(
          [&](const std::string& program) { return EvaluateCommand(program, *options); });
    };
  });
}

}  // namespace interlude
