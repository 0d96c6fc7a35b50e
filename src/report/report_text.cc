#include "report/report_text.h"

#include <fmt/format.h>

#include "report/data_text.h"
#include "report/evaluation_text.h"

namespace interlude {
using internal::Section;

std::string internal::Section(const std::string& heading, const std::string& body,
                              const ReportOptions& options) {
  if (body.empty()) return "";
  const bool color = options.color && !heading.empty();
  return fmt::format("\n{}{}{}\n{}", color ? "\x1b[1m" : "", heading, color ? "\x1b[0m" : "", body);
}

std::string FormatRunReport(const RunSummary& run, const ReportOptions& options) {
  std::string text = internal::Headline(run);
  if (!run.rounds.empty()) {
    text += Section("Findings (observed: measured to explain it; hypothesis: it may)",
                    internal::FindingsSection(run), options);
    text += Section("A median round", internal::StagesSection(run), options);
    text += Section("Critical path (milliseconds of a mean round: what held it up, adds up to it)",
                    internal::PathTable(run), options);
    text += Section(
        "Workers and the critical path (ms of a median round; drag: saved if as quick as the "
        "median)",
        internal::PathWorkersTable(run), options);
    text += Section(
        "Rounds (train: the longest, exch: the shortest of any worker; train %: min/median/max; "
        "MB a worker)",
        internal::RoundsTable(run, options), options);
    text += Section(
        "Phases of a median round (milliseconds; min, median, max over the n workers concerned; MB "
        "of all)",
        internal::PhasesTable(run.typical.phases), options);
    text += Section("Before the first round (milliseconds, over the workers concerned)",
                    internal::PhasesTable(run.before_rounds), options);
    if (options.phases_by_round) {
      text += Section("Worker phases by round (milliseconds, over workers)",
                      internal::PhasesByRoundTable(run, /*of_workers=*/true, options), options);
      text += Section("Coordinator phases by round (milliseconds, over the workers concerned)",
                      internal::PhasesByRoundTable(run, /*of_workers=*/false, options), options);
    }
  }
  text += Section("Classes (on the test set, in the last evaluation; the worst)",
                  ClassScoresText(run.final_evaluation, run.class_names), options);
  text += Section("Data (all together: one set, of which each worker has another share each epoch)",
                  internal::DataSection(run), options);
  if (!run.workers.empty()) {
    text += Section(
        "Workers (cores usable/visible; milliseconds of a median round; delay: ready but without a "
        "CPU)",
        internal::WorkersTable(run), options);
  }
  text += Section("Events (since the first round began)", internal::EventsSection(run, options),
                  options);
  if (!run.rounds.empty()) text += "\n" + internal::Footer(run);
  return text;
}

}  // namespace interlude
