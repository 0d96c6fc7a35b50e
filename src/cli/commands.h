// The subcommands of `interlude`, one source file each.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/app.h"

namespace interlude {

// Each adds its subcommand to `app`; when the command line names it, `chosen` becomes what it does.
void AddRunCommand(CLI::App& app, Action& chosen);          // run_command.cc
void AddCoordinatorCommand(CLI::App& app, Action& chosen);  // coordinator_command.cc
void AddWorkerCommand(CLI::App& app, Action& chosen);       // worker_command.cc
void AddEvaluateCommand(CLI::App& app, Action& chosen);     // evaluate_command.cc
void AddPredictCommand(CLI::App& app, Action& chosen);      // predict_command.cc
void AddReportCommand(CLI::App& app, Action& chosen);       // report_command.cc
void AddTraceCommand(CLI::App& app, Action& chosen);        // trace_command.cc
void AddBenchCommand(CLI::App& app, Action& chosen);        // bench_command.cc
void AddConfigCommand(CLI::App& app, Action& chosen);       // config_command.cc
void AddJournalCommand(CLI::App& app, Action& chosen);      // journal_command.cc
void AddModelCommand(CLI::App& app, Action& chosen);        // model_command.cc
void AddKeysCommand(CLI::App& app, Action& chosen);         // keys_command.cc
void AddDoctorCommand(CLI::App& app, Action& chosen);       // doctor_command.cc
void AddReproCommand(CLI::App& app, Action& chosen);        // repro_command.cc

}  // namespace interlude
