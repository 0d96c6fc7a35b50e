#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/human_text.h"
#include "report/evaluation_text.h"
#include "report/report_text.h"
#include "report/table.h"

namespace interlude::internal {
namespace {

std::string MetaOr(const RunSummary& run, const char* key, const std::string& otherwise) {
  const auto found = run.meta.find(key);
  return found == run.meta.end() ? otherwise : Printable(found->second);
}

std::string PercentOf(double part, double whole) {
  return whole > 0 ? fmt::format("{:.0f} %", 100 * part / whole) : "-";
}

std::string Extent(const RunSummary& run) {
  std::string text = fmt::format(
      "{} in {} with {}: {}, {} a second.", Count(static_cast<double>(run.rounds.size()), "round"),
      HumanSeconds(run.wall_seconds), Count(static_cast<double>(run.workers.size()), "worker"),
      Count(static_cast<double>(run.samples), "sample"), HumanCount(run.samples_per_second));
  if (run.rounds.size() > 1) {
    text += fmt::format(" The first round took {} and is not in the medians.",
                        HumanSeconds(run.rounds[0].wall_seconds));
  }
  if (run.gap_seconds > 0)
    text += fmt::format(" {} lie between rounds.", HumanSeconds(run.gap_seconds));
  return text;
}

/// "the exchange took 2.8 ms"; with several workers, where it was shortest and where longest.
std::string ExchangeOf(const Spread& exchange) {
  std::string text = fmt::format("the exchange took {}", HumanSeconds(exchange.min));
  if (exchange.count > 1) {
    text += fmt::format(" on the worker where it was shortest, {} where longest",
                        HumanSeconds(exchange.max));
  }
  return text;
}

/// Lines short enough that none needs wrapping.
std::string MedianRound(const RunSummary& run) {
  const TypicalRound& typical = run.typical;
  std::string text = fmt::format("A median round took {}", HumanSeconds(typical.wall_seconds));
  if (typical.slowest_train_seconds > 0) {
    text += fmt::format(", of which {} ({}) was training on the slowest worker",
                        HumanSeconds(typical.slowest_train_seconds),
                        PercentOf(typical.slowest_train_seconds, typical.wall_seconds));
  }
  if (typical.exchange_of_workers.count > 0)
    text += ";\n" + ExchangeOf(typical.exchange_of_workers);
  return text + fmt::format(".\n{} up and {} down per worker and round.\n",
                            HumanBytes(typical.upload_bytes), HumanBytes(typical.download_bytes));
}

std::string Result(const RunSummary& run) {
  std::string text = run.final_accuracy ? fmt::format("Test accuracy {}; training loss",
                                                      AccuracyText(run.final_evaluation))
                                        : std::string("No evaluation; training loss");
  return text + fmt::format(" {:.4f} in the last round.", run.final_loss.value_or(NAN));
}

std::string Agreement(const RunSummary& run) {
  size_t unverified = 0;
  std::string wrong;
  for (const RoundSummary& round : run.rounds) {
    unverified += round.unverified_workers.size();
    for (const int32_t worker : round.disagreeing_workers) {
      if (wrong.size() < 200)
        wrong +=
            fmt::format("{}worker {} in round {}", wrong.empty() ? "" : ", ", worker, round.round);
    }
  }
  std::string text = run.hashes_agree
                         ? fmt::format(
                               "Coordinator and workers agree on the parameters of every round; "
                               "the last root hash is {}.",
                               Printable(run.rounds.back().root_hash))
                         : fmt::format("PARAMETERS DIFFER: another root hash from {}.", wrong);
  if (unverified > 0)
    text += fmt::format(" {} without a root hash.", Count(static_cast<double>(unverified), "part"));
  if (run.repaired_chunks > 0) {
    text += fmt::format(" {} repaired.", Count(static_cast<double>(run.repaired_chunks), "chunk"));
  }
  if (run.workers_left > 0) text += fmt::format(" {} left.", Count(run.workers_left, "worker"));
  return text;
}

/// What did not go as planned, by the kinds of events that say so.
std::string Troubles(const RunSummary& run) {
  const std::pair<const char*, const char*> kinds[] = {
      {"worker_lost", "lost connection"},
      {"late", "time that a round went on without a worker"},
      {"refused", "wrong update or message"},
      {"coordinator_restarted", "restart of the coordinator"},
      {"no_workers", "wait for workers"},
      {"snapshot_failed", "snapshot that could not be written"}};
  std::string text;
  for (const auto& [kind, words] : kinds) {
    const auto times = std::count_if(run.events.begin(), run.events.end(),
                                     [&](const EventRecord& event) { return event.kind == kind; });
    if (times > 0) text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", times, words);
  }
  if (!text.empty()) text = "Troubles: " + text + " (see the events).";
  if (!run.unrecorded_rounds.empty()) {
    const bool all = run.unrecorded_rounds.size() < kMostUnrecorded;
    text += fmt::format(
        "{}{}{} without a record, the first is {}: the coordinator was killed before it had "
        "written them; what they did to the parameters is not lost.",
        text.empty() ? "" : " ", all ? "" : "At least ",
        Count(static_cast<double>(run.unrecorded_rounds.size()), "committed round"),
        run.unrecorded_rounds.front());
  }
  return text;
}

}  // namespace

std::string Title(const RunSummary& run) {
  std::string title = MetaOr(run, kMetaTitle, "interlude run");
  for (const char* key : {kMetaCodec, kMetaExchange, kMetaStartedAt}) {
    if (run.meta.contains(key)) title += ", " + MetaOr(run, key, "");
  }
  const std::string outcome = MetaOr(run, kMetaOutcome, "not finished, or still running");
  return title + (outcome == "finished" ? "" : " (" + outcome + ")");
}

std::string Headline(const RunSummary& run) {
  std::string text = Wrap(Title(run), kReportWidth) + "\n";
  if (run.rounds.empty()) return text + "No round has finished.\n";
  text += Wrap(Extent(run), kReportWidth);
  text += MedianRound(run);
  text += Wrap(Result(run), kReportWidth);
  text += Wrap(Agreement(run), kReportWidth);
  for (const std::string& lines : {Troubles(run), AccountNote(run)})
    if (!lines.empty()) text += Wrap(lines, kReportWidth);
  return text;
}

std::string AccountNote(const RunSummary& run) {
  if (MetaOr(run, kMetaAccount, "") != kNoAccount) return "";
  return "Recorded without an account (INTERLUDE_WITHOUT_ACCOUNT=1), at least in part: of such "
         "rounds nothing says where the time went.";
}

std::string Footer(const RunSummary& run) {
  std::string text = Wrap(
      "Phases run in parallel, on several workers and chunk by chunk within one: their times "
      "overlap and must not "
      "be added up. A phase's time is from its first beginning to its last end in one process; "
      "busy is the part "
      "spent in the phase itself, cpu the time on a CPU of all its threads, delay the time a "
      "thread was ready but "
      "had no CPU. A worker's exchange is from the end of its local steps to the end of its last "
      "exchange phase (encode to verify); one that trained faster waits within it for the others, "
      "so a round's exchange is that of the worker where it was shortest. Training and exchange "
      "do not add up to the round: messages and evaluation are in neither.",
      kReportWidth);
  text += Wrap(
      "But for the critical path, the clocks of different processes are not compared: every other "
      "figure is a duration within one process or lies between two events of the coordinator.",
      kReportWidth);
  if (run.impossible_spans > 0) {
    text += Wrap(fmt::format("{} ended before beginning and {} left out.",
                             Count(static_cast<double>(run.impossible_spans), "span"),
                             run.impossible_spans == 1 ? "was" : "were"),
                 kReportWidth);
  }
  return text;
}

}  // namespace interlude::internal
