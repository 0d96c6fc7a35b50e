// interlude worker: becomes interlude-worker, which alone needs LibTorch.
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "cli/become_worker.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/programs.h"
#include "cli/run_options.h"

namespace interlude {

int BecomeWorkerProgram(
    const std::function<std::vector<std::string>(const std::string& program)>& command) {
  const auto program = WorkerProgram();
  if (!program.ok()) return Fail(program.status(), kExitUsage);
  std::vector<std::string> words = command(*program);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(program->c_str(), arguments.data());
  return Fail(ErrnoError(errno, "cannot run " + *program), kExitFailed);
}

void AddWorkerCommand(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<WorkerCommandOptions>();
  CLI::App* command =
      app.add_subcommand("worker", "One worker; the coordinator tells it what to train");
  AddWorkerOptions(*command, *options);
  command->footer("Example:\n  interlude worker --coordinator 10.0.0.5:50051 --keys keys");
  command->callback([options, &chosen] {
    chosen = [options] {
      return BecomeWorkerProgram(
          [&](const std::string& program) { return WorkerCommand(program, *options); });
    };
  });
}

}  // namespace interlude
