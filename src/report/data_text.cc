#include "report/data_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ledger/data_facts.h"
#include "report/table.h"

namespace interlude::internal {

namespace {

using Json = nlohmann::ordered_json;
using Counts = std::vector<uint64_t>;

constexpr size_t kNameWidth = 24;
constexpr size_t kMostWorkers = 20;  // a line each
constexpr size_t kMostColumns = 8;
constexpr size_t kMostClasses = 20;
constexpr size_t kMostLacking = 2;  // by name

uint64_t Sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

std::string Owner(const ClassCountsRecord& record) {
  return record.worker == kNoWorker ? "all together" : fmt::format("worker {}", record.worker);
}

/// Which classes have no picture, the first ones by name.
std::string Lacking(const Counts& counts, const std::vector<std::string>& names) {
  std::string text;
  size_t lacking = 0;
  for (size_t label = 0; label < counts.size(); ++label) {
    if (counts[label] > 0 || ++lacking > kMostLacking) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ",
                        Printable(ClassName(names, label), kNameWidth));
  }
  if (lacking > kMostLacking) text += fmt::format(" and {} more", lacking - kMostLacking);
  return text.empty() ? "-" : text;
}

std::string More(size_t all, size_t shown, std::string_view what) {
  return fmt::format("... and {} more {}; --json and run.db have them", all - shown, what);
}

std::string WorkersTable(const RunSummary& run) {
  Table table({"pictures of", "without training pictures", "training", "test"}, 2);
  const auto& all = run.class_counts;
  const size_t shown = std::min(all.size(), kMostWorkers);
  for (size_t i = 0; i < shown; ++i) {
    table.Add({Owner(all[i]), Lacking(all[i].counts.train, run.class_names),
               std::to_string(Sum(all[i].counts.train)), std::to_string(Sum(all[i].counts.test))});
  }
  if (shown < all.size()) table.AddNote(More(all.size(), shown, "workers"));
  return table.ToString();
}

std::string ClassesTable(const RunSummary& run) {
  const auto& all = run.class_counts;
  const size_t columns = std::min(all.size(), kMostColumns);
  std::vector<std::string> header = {"training pictures"};
  size_t classes = 0;
  for (size_t i = 0; i < columns; ++i) {
    header.push_back(Owner(all[i]));
    classes = std::max(classes, all[i].counts.train.size());
  }
  Table table(std::move(header), 1);
  const size_t shown = std::min(classes, kMostClasses);
  for (size_t label = 0; label < shown; ++label) {
    std::vector<std::string> row = {Printable(ClassName(run.class_names, label), kNameWidth)};
    for (size_t i = 0; i < columns; ++i) {
      const Counts& counts = all[i].counts.train;
      row.push_back(label < counts.size() ? std::to_string(counts[label]) : "-");
    }
    table.Add(std::move(row));
  }
  if (shown < classes) table.AddNote(More(classes, shown, "classes"));
  if (columns < all.size()) table.AddNote(More(all.size(), columns, "workers"));
  return table.ToString();
}

}  // namespace

std::string DataSection(const RunSummary& run) {
  if (run.class_counts.empty()) return "";
  return WorkersTable(run) + "\n" + ClassesTable(run);
}

Json JsonOfData(const RunSummary& run) {
  Json counts = Json::array();
  for (const ClassCountsRecord& record : run.class_counts) {
    counts.push_back({{"worker", record.worker == kNoWorker ? Json(nullptr) : Json(record.worker)},
                      {"train_pictures", record.counts.train},
                      {"test_pictures", record.counts.test}});
  }
  return {{"classes", run.class_names}, {"counts", std::move(counts)}};
}

}  // namespace interlude::internal
