// A comparison of two runs: its sentences.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "analysis/mean_noise.h"
#include "base/human_text.h"
#include "report/report_compare_text.h"
#include "report/report_text.h"
#include "report/table.h"

namespace interlude::internal {
namespace {

std::string Number(size_t count, std::string_view word) {
  return Count(static_cast<double>(count), word);
}

std::string Seconds(double ns) { return HumanSeconds(std::abs(ns) / 1e9); }

std::string SignedSeconds(double ns) { return (ns < 0 ? "-" : "+") + Seconds(ns); }

bool HasNoise(const PathComparison& path) { return path.round.give_or_take_ns.has_value(); }

std::string ShareOfRound(const PathComparison& path, double ns) {
  const double round_ns = path.MeanNs(path.round.a_ns);
  return round_ns > 0 ? fmt::format(" ({:.1f} %)", 100 * std::abs(ns) / round_ns) : "";
}

std::string RoundSentence(const PathComparison& path) {
  if (path.rounds == 0) return "There is no round that can be compared.";
  const PathChange& round = path.round;
  const double ns = round.difference_ns;
  std::string text =
      fmt::format("B's mean round takes {} where A's takes {}: ", Seconds(path.MeanNs(round.b_ns)),
                  Seconds(path.MeanNs(round.a_ns)));
  const std::string difference =
      ns == 0
          ? "no difference"
          : fmt::format("{}{} {}", Seconds(ns), ShareOfRound(path, ns), ns < 0 ? "less" : "more");
  if (!HasNoise(path)) return text + difference + ".";
  text += difference + fmt::format(", give or take {}", Seconds(*round.give_or_take_ns));
  return text + (round.changed() ? "." : ": within the noise.");
}

std::string RowsSentence(const PathComparison& path) {
  std::string changed;
  size_t within = 0;
  for (const PathChange& row : path.rows) {
    if (row.changed()) {
      changed += fmt::format("{}{} {}", changed.empty() ? "" : ", ", ActivityName(row.what),
                             SignedSeconds(row.difference_ns));
    } else {
      ++within;
    }
  }
  if (changed.empty()) return "No row of the critical path changed by more than the noise.";
  if (within == 0) return fmt::format("On the critical path: {}.", changed);
  return fmt::format("On the critical path: {}; {} within the noise.", changed,
                     within == 1 ? "one row is" : fmt::format("{} rows are", within));
}

std::string NoNoise(const PathComparison& path) {
  return fmt::format("What of this is noise cannot be said: that needs {} rounds, and there {} {}.",
                     kFewestForNoise, path.rounds == 1 ? "is" : "are", path.rounds);
}

std::string RoundsSentence(const PathComparison& path) {
  std::string text = path.rounds == 1 ? "Compared is one round"
                                      : fmt::format("Compared are {} rounds", path.rounds);
  text += path.without_first ? " that both recorded, without the first" : " that both recorded";
  for (const auto& [rounds, where] :
       {std::pair(path.only_in_a, "only in A"), std::pair(path.only_in_b, "only in B"),
        std::pair(path.without_path, "without a critical path in A or B")}) {
    if (rounds > 0) text += fmt::format("; {} {}", Number(rounds, "round"), where);
  }
  return text + ".";
}

std::string ParametersSentence(const SameParameters& same) {
  if (same.rounds == 0) return "No round has a root hash in both runs.";
  if (!same.first_differs) {
    return fmt::format(
        "Their parameters are the same, bit for bit, in {} that both recorded.",
        same.rounds == 1 ? "the one round" : fmt::format("all {} rounds", same.rounds));
  }
  if (!same.last_same)
    return fmt::format("Their parameters differ from round {} on.", *same.first_differs);
  return fmt::format(
      "Their parameters are the same, bit for bit, up to round {}, and differ from round {} on.",
      *same.last_same, *same.first_differs);
}

std::string Heading(const char* letter, const NamedRun& run) {
  return Wrap(fmt::format("{}: {}: {}", letter, Printable(run.name), Title(run.run)), kReportWidth,
              3);
}

}  // namespace

std::string ComparisonHeadline(const RunComparison& comparison, const NamedRun& a,
                               const NamedRun& b) {
  const PathComparison& path = comparison.path;
  std::string text = Heading("A", a) + Heading("B", b) + "\n";
  text += Wrap(RoundSentence(path), kReportWidth);
  text += Wrap(HasNoise(path) ? RowsSentence(path) : NoNoise(path), kReportWidth);
  text += Wrap(RoundsSentence(path), kReportWidth);
  return text + Wrap(ParametersSentence(comparison.parameters), kReportWidth);
}

std::string ComparisonFooter(const PathComparison& path) {
  std::string text;
  if (HasNoise(path)) {
    text = fmt::format(
        "Of comparisons in which nothing changed at most {:.0f} % have a row that says "
        "\"changed\", so wide are the intervals; more of them where slow spells outlast several "
        "rounds. ",
        100 * kMissesOfAll);
  }
  text +=
      "The noise is that of the rounds within these two runs. What differs from one run to the "
      "next without any change (another hour, another machine, other neighbours) is not in it: run "
      "A once more and compare the two to see how much that is.";
  return Wrap(text, kReportWidth);
}

}  // namespace interlude::internal
