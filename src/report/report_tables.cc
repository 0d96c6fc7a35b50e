#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/human_text.h"
#include "report/report_text.h"
#include "report/table.h"

namespace interlude::internal {
namespace {

constexpr size_t kHostWidth = 14;

std::string Milliseconds(double seconds) { return fmt::format("{:.1f}", 1e3 * seconds); }
std::string SecondsText(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{:.3f}", *seconds) : "-";
}
std::string Megabytes(double bytes) {
  return fmt::format("{:.{}f}", bytes / 1e6, bytes < 1e8 ? 3 : 1);
}
std::string Percent(double share) { return fmt::format("{:.1f}", 100 * share); }
std::string Percents(const Spread& shares) {
  if (shares.count == 0) return "-";
  return fmt::format("{:.0f}/{:.0f}/{:.0f}", 100 * shares.min, 100 * shares.median,
                     100 * shares.max);
}

/// Moments and waits between the phases, what lies over one, and the round itself: no columns of
/// their own.
bool StandsBetween(Phase phase) {
  return phase == Phase::kAwaitRound || phase == Phase::kStart || phase == Phase::kReport ||
         phase == Phase::kCall || phase == Phase::kDecide || phase == Phase::kAsk ||
         phase == Phase::kLedger || phase == Phase::kLoad || phase == Phase::kRound;
}

const PhaseSummary* FindPhase(const RoundSummary& round, Phase phase) {
  for (const PhaseSummary& summary : round.phases) {
    if (summary.phase == phase) return &summary;
  }
  return nullptr;
}

std::string LeftOut(size_t rounds) {
  return fmt::format("... {} left out; interlude report --all lists them",
                     Count(static_cast<double>(rounds), "round"));
}

/// Calls row(round) for each round that is listed and puts a note where some are left out.
template <typename AddRow>
void ForListedRounds(const RunSummary& run, const ReportOptions& options, Table& table,
                     AddRow add_row) {
  const std::vector<size_t> listed = ListedRounds(run.rounds.size(), options.max_rounds);
  for (const size_t i : listed) {
    if (i == run.rounds.size()) {
      table.AddNote(LeftOut(run.rounds.size() - (listed.size() - 1)));
    } else {
      add_row(run.rounds[i]);
    }
  }
}

}  // namespace

std::vector<size_t> ListedRounds(size_t rounds, size_t max_rounds) {
  std::vector<size_t> listed;
  if (max_rounds == 0 || rounds <= max_rounds) {
    for (size_t i = 0; i < rounds; ++i) listed.push_back(i);
    return listed;
  }
  listed = {0, rounds};
  for (size_t i = rounds - (max_rounds - 1); i < rounds; ++i) listed.push_back(i);
  return listed;
}

std::string StagesSection(const RunSummary& run) {
  if (!run.typical.stages) return "";
  const RoundStages& stages = *run.typical.stages;
  const double wall = run.typical.wall_seconds;
  Table table({"by the coordinator's own events, one after the other", "ms", "%"}, 1);
  const auto add = [&](const char* what, double seconds) {
    table.Add({what, Milliseconds(seconds), wall > 0 ? Percent(seconds / wall) : "-"});
  };
  add("round begins -> first delta chunk arrives", stages.until_first_delta_seconds);
  add("first delta chunk -> last (slower workers, upload)", stages.deltas_arriving_seconds);
  add("last delta chunk -> all chunks merged", stages.until_committed_seconds);
  add("merged -> every worker applied and verified", stages.until_verified_seconds);
  return table.ToString();
}

std::string RoundsTable(const RunSummary& run, const ReportOptions& options) {
  Table table({"round", "wall s", "train s", "exch ms", "train %", "up MB", "down MB", "samples",
               "loss", "acc %", "workers"},
              0);
  ForListedRounds(run, options, table, [&](const RoundSummary& round) {
    const std::optional<double> exchange = round.exchange_seconds();
    if (std::binary_search(run.unrecorded_rounds.begin(), run.unrecorded_rounds.end(),
                           round.round - 1)) {
      table.AddNote("... committed without a record: the coordinator was killed");
    }
    table.Add({std::to_string(round.round), SecondsText(round.wall_seconds),
               SecondsText(round.slowest_train_seconds), exchange ? Milliseconds(*exchange) : "-",
               Percents(round.train_share), Megabytes(round.upload_bytes.median),
               Megabytes(round.download_bytes.median),
               HumanCount(static_cast<double>(round.samples)),
               fmt::format("{:.4f}", round.mean_loss),
               round.accuracy ? fmt::format("{:.2f}", 100 * *round.accuracy) : "",
               std::to_string(round.workers)});
  });
  return table.ToString();
}

std::string PhasesTable(const std::vector<PhaseSummary>& phases) {
  if (phases.empty()) return "";
  Table table(
      {"phase", "n", "min", "median", "max", "max busy", "max cpu", "max delay", "MB", "failed"},
      1);
  std::string side;
  for (const PhaseSummary& phase : phases) {
    const std::string by = IsWorkerPhase(phase.phase) ? "by the workers:" : "by the coordinator:";
    if (by != side) table.AddNote(by);
    side = by;
    table.Add({std::string(PhaseName(phase.phase)), std::to_string(phase.processes()),
               Milliseconds(phase.inside_seconds.min), Milliseconds(phase.inside_seconds.median),
               Milliseconds(phase.inside_seconds.max), Milliseconds(phase.busy_seconds.max),
               Milliseconds(phase.cpu_seconds.max), Milliseconds(phase.run_delay_seconds.max),
               phase.bytes > 0 ? Megabytes(phase.bytes) : "",
               phase.failed > 0 ? fmt::format("{:.0f}", phase.failed) : ""});
  }
  return table.ToString();
}

std::string PhasesByRoundTable(const RunSummary& run, bool of_workers,
                               const ReportOptions& options) {
  std::vector<Phase> columns;
  std::vector<std::string> header = {"round", ""};
  for (const Phase phase : kAllPhases) {
    const bool occurs =
        std::any_of(run.rounds.begin(), run.rounds.end(),
                    [&](const RoundSummary& round) { return FindPhase(round, phase) != nullptr; });
    if (!occurs || IsWorkerPhase(phase) != of_workers || StandsBetween(phase)) continue;
    columns.push_back(phase);
    header.emplace_back(PhaseName(phase));
  }
  if (columns.empty()) return "";
  Table table(std::move(header), 2);
  const std::pair<const char*, double Spread::*> lines[] = {
      {"min", &Spread::min}, {"med", &Spread::median}, {"max", &Spread::max}};
  ForListedRounds(run, options, table, [&](const RoundSummary& round) {
    for (const auto& [name, field] : lines) {
      const bool first = field == &Spread::min;
      std::vector<std::string> row = {first ? std::to_string(round.round) : "", name};
      for (const Phase phase : columns) {
        const PhaseSummary* summary = FindPhase(round, phase);
        row.push_back(summary == nullptr ? "" : Milliseconds(summary->inside_seconds.*field));
      }
      table.Add(std::move(row));
    }
  });
  return table.ToString();
}

std::string WorkersTable(const RunSummary& run) {
  Table table({"worker", "host", "cores", "quota", "threads", "rounds", "train", "encode", "apply",
               "delay"},
              2);
  for (const WorkerSummary& worker : run.workers) {
    const WorkerRecord& record = worker.record;
    table.Add({std::to_string(record.worker) + (record.left_ns ? " (left)" : ""),
               Printable(record.host, kHostWidth),
               fmt::format("{}/{}", record.usable_cores, record.visible_cores),
               record.quota_cores > 0 ? fmt::format("{:.2f}", record.quota_cores) : "-",
               std::to_string(record.threads), std::to_string(worker.rounds),
               Milliseconds(worker.train_seconds), Milliseconds(worker.encode_seconds),
               Milliseconds(worker.apply_seconds), Milliseconds(worker.run_delay_seconds)});
  }
  return table.ToString();
}

std::string EventsSection(const RunSummary& run, const ReportOptions& options) {
  std::string text;
  const size_t skipped =
      run.events.size() > options.max_events ? run.events.size() - options.max_events : 0;
  if (skipped > 0)
    text +=
        fmt::format("  ... {} earlier events left out; interlude report --json has all\n", skipped);
  for (size_t i = skipped; i < run.events.size(); ++i) {
    const EventRecord& event = run.events[i];
    const double at = (static_cast<double>(event.at_ns) - static_cast<double>(run.begin_ns)) / 1e9;
    const std::string when = run.rounds.empty() ? "" : fmt::format("{:+.3f} s, ", at);
    const std::string round = event.round ? fmt::format("round {}, ", *event.round) : "";
    text += "  " + Wrap(fmt::format("{}{}{}: {}", when, round, Printable(event.kind),
                                    Printable(event.text)),
                        kReportWidth - 2, 4);
  }
  return text;
}

}  // namespace interlude::internal
