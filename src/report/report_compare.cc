// A comparison of two runs as text.
#include "report/report_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/human_text.h"
#include "report/report_compare_text.h"
#include "report/report_text.h"
#include "report/table.h"

namespace interlude {
namespace {

using internal::Section;

constexpr size_t kMostSettings = 40;
constexpr size_t kMostWorkers = 24;

std::string Milliseconds(double ns) { return fmt::format("{:.1f}", ns / 1e6); }

/// Not "-0.0".
std::string SignedMilliseconds(double ns) {
  return std::abs(ns) < 50'000 ? "0.0" : fmt::format("{:+.1f}", ns / 1e6);
}

std::string PathSection(const PathComparison& path) {
  Table table({"what", "A", "B", "B - A", "from", "to", ""}, 1);
  const auto add = [&](std::string_view name, const PathChange& row) {
    std::vector<std::string> cells = {std::string(name), Milliseconds(path.MeanNs(row.a_ns)),
                                      Milliseconds(path.MeanNs(row.b_ns)),
                                      SignedMilliseconds(row.difference_ns)};
    if (row.give_or_take_ns) {
      cells.push_back(SignedMilliseconds(row.difference_ns - *row.give_or_take_ns));
      cells.push_back(SignedMilliseconds(row.difference_ns + *row.give_or_take_ns));
      cells.push_back(row.changed() ? "changed" : "within the noise");
    } else {
      cells.insert(cells.end(), {"-", "-", "too few rounds"});
    }
    table.Add(std::move(cells));
  };
  for (const PathChange& row : path.rows) add(ActivityName(row.what), row);
  add("round", path.round);
  return table.ToString();
}

/// One line of a table: safe, and not so long that the others' columns are pushed out.
std::string Cell(const std::optional<std::string>& value) {
  constexpr size_t kLongest = 31;
  if (!value) return "-";
  const std::string text = Printable(*value);
  return text.size() <= kLongest ? text : text.substr(0, kLongest - 3) + "...";
}

std::string SettingsSection(const std::vector<SettingChange>& changes) {
  if (changes.empty()) return "  none\n";
  Table table({"key", "A", "B"}, 3);
  for (size_t i = 0; i < std::min(changes.size(), kMostSettings); ++i)
    table.Add({Cell(changes[i].key), Cell(changes[i].a), Cell(changes[i].b)});
  if (changes.size() > kMostSettings)
    table.AddNote(fmt::format("... {} more; --json has all", changes.size() - kMostSettings));
  return table.ToString();
}

std::string FigureText(FigureUnit unit, const std::optional<double>& value) {
  if (!value || std::isnan(*value)) return "-";
  switch (unit) {
    case FigureUnit::kCount:
      return HumanCount(*value);
    case FigureUnit::kSeconds:
      return HumanSeconds(*value);
    case FigureUnit::kBytes:
      return HumanBytes(*value);
    case FigureUnit::kShare:
      return fmt::format("{:.2f} %", 100 * *value);
    case FigureUnit::kLoss:
      return fmt::format("{:.4f}", *value);
  }
  return "-";
}

std::string FigureDifference(const FigureChange& change) {
  if (!change.a || !change.b || std::isnan(*change.a - *change.b)) return "-";
  const double difference = *change.b - *change.a;
  if (difference == 0) return "same";
  if (change.unit == FigureUnit::kLoss) return fmt::format("{:+.4f}", difference);
  if (change.unit == FigureUnit::kShare) return fmt::format("{:+.2f} points", 100 * difference);
  return *change.a > 0 ? fmt::format("{:+.1f} %", 100 * difference / *change.a) : "-";
}

std::string FiguresSection(const std::vector<FigureChange>& changes) {
  Table table({"figure", "A", "B", "B - A"}, 1);
  for (const FigureChange& change : changes) {
    if (change.a.value_or(0) == 0 && change.b.value_or(0) == 0) continue;  // or neither is known
    table.Add({std::string(change.text), FigureText(change.unit, change.a),
               FigureText(change.unit, change.b), FigureDifference(change)});
  }
  return table.ToString();
}

/// What differs from B's: " (in A of workers 0 and 2, 12 ms)".
std::string InA(const Finding& a, const Finding& b) {
  std::string text = a.workers == b.workers ? "" : " of " + WorkersText(a.workers);
  if (a.saves_ns_per_round > 0)
    text += (text.empty() ? " " : ", ") +
            HumanSeconds(static_cast<double>(a.saves_ns_per_round) * 1e-9);
  return text.empty() ? "" : " (in A" + text + ")";
}

std::string FindingsChanges(const std::vector<FindingChange>& changes) {
  std::string text;
  for (const FindingChange& change : changes) {
    if (!change.a) {
      text += internal::Paragraph("new in B: " + internal::FindingText(*change.b), 2);
    } else if (!change.b) {
      text += internal::Paragraph("gone in B: " + internal::FindingText(*change.a), 2);
    } else {
      text += internal::Paragraph(
          "in both, here of B: " + internal::FindingText(*change.b) + InA(*change.a, *change.b), 2);
    }
  }
  return text.empty() ? "  none in either\n" : text;
}

/// Those whose drag differs most.
std::string WorkersSection(std::vector<WorkerChange> changes) {
  if (changes.empty()) return "";
  const size_t all = changes.size();
  const auto by_drag = [](const WorkerChange& left, const WorkerChange& right) {
    return std::abs(left.b.drag_seconds - left.a.drag_seconds) >
           std::abs(right.b.drag_seconds - right.a.drag_seconds);
  };
  std::stable_sort(changes.begin(), changes.end(), by_drag);
  changes.resize(std::min(all, kMostWorkers));
  std::sort(changes.begin(), changes.end(),
            [](const WorkerChange& left, const WorkerChange& right) {
              return left.worker < right.worker;
            });
  Table table({"worker", "train A", "train B", "encode A", "encode B", "apply A", "apply B",
               "drag A", "drag B"},
              1);
  const auto ms = [](double seconds) { return fmt::format("{:.1f}", 1e3 * seconds); };
  for (const auto& [worker, a, b] : changes) {
    table.Add({std::to_string(worker), ms(a.train_seconds), ms(b.train_seconds),
               ms(a.encode_seconds), ms(b.encode_seconds), ms(a.apply_seconds), ms(b.apply_seconds),
               ms(a.drag_seconds), ms(b.drag_seconds)});
  }
  if (all > kMostWorkers)
    table.AddNote(fmt::format("... {} more; --json has all", all - kMostWorkers));
  return table.ToString();
}

}  // namespace

std::string FormatComparison(const RunComparison& comparison, const NamedRun& a, const NamedRun& b,
                             const ReportOptions& options) {
  const PathComparison& path = comparison.path;
  std::string text = internal::ComparisonHeadline(comparison, a, b);
  text += Section("Critical path (milliseconds of a mean round; B - A lies between from and to)",
                  PathSection(path), options);
  text += Section("Settings that differ", SettingsSection(comparison.settings), options);
  text += Section("Figures of the whole runs (nothing is known of their noise)",
                  FiguresSection(comparison.figures), options);
  text += Section("Findings", FindingsChanges(comparison.findings), options);
  text += Section(
      "Workers of both (milliseconds of a median round; drag: saved if as quick as the median)",
      WorkersSection(comparison.workers), options);
  return text + "\n" + internal::ComparisonFooter(path);
}

}  // namespace interlude
