// The `interlude` program. LibTorch is not linked; what trains is interlude-worker
// (worker_program/).
#include "base/version.h"
#include "cli/commands.h"

int main(int argc, char** argv) {
  CLI::App app{"Low-communication distributed training that accounts for every moment of a round.",
               "interlude"};
  interlude::Action chosen;
  interlude::AddRunCommand(app, chosen);
  interlude::AddCoordinatorCommand(app, chosen);
  interlude::AddWorkerCommand(app, chosen);
  interlude::AddEvaluateCommand(app, chosen);
  interlude::AddPredictCommand(app, chosen);
  interlude::AddReportCommand(app, chosen);
  interlude::AddTraceCommand(app, chosen);
  interlude::AddBenchCommand(app, chosen);
  interlude::AddConfigCommand(app, chosen);
  interlude::AddJournalCommand(app, chosen);
  interlude::AddModelCommand(app, chosen);
  interlude::AddKeysCommand(app, chosen);
  interlude::AddDoctorCommand(app, chosen);
  interlude::AddReproCommand(app, chosen);
  for (const char* name : {"run", "coordinator", "worker", "evaluate", "predict", "keys"})
    app.get_subcommand(name)->group("Train");
  for (const char* name :
       {"doctor", "report", "trace", "journal", "bench", "repro", "config", "model"})
    app.get_subcommand(name)->group("Look");
  app.require_subcommand(1);
  app.set_version_flag("--version", interlude::kSoftwareVersion);
  app.footer(
      "interlude SUBCOMMAND --help explains each.\n\n"
      "Exit status: 0 all well; 1 failed; 2 wrong command line, configuration or directory; 3 "
      "finished, but a\n"
      "worker was lost, or a file could not be read; 130 interrupted.");
  return interlude::RunApp(
      app, [&] { return chosen(); }, argc, argv);
}
