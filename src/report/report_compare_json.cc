// A comparison of two runs as JSON.
#include <nlohmann/json.hpp>

#include "report/report_compare.h"
#include "report/report_json_account.h"

namespace interlude {
namespace {

using Json = internal::Json;

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json FromRun(const NamedRun& run) {
  const auto of_meta = [&](const char* key) {
    const auto found = run.run.meta.find(key);
    return found == run.run.meta.end() ? Json(nullptr) : Json(found->second);
  };
  return {{"directory", run.name},
          {"title", of_meta(kMetaTitle)},
          {"started_at", of_meta(kMetaStartedAt)}};
}

Json FromChange(const PathChange& row) {
  return {{"a_sum_ns", row.a_ns},
          {"b_sum_ns", row.b_ns},
          {"difference_ns", row.difference_ns},
          {"give_or_take_ns", OrNull(row.give_or_take_ns)},
          {"changed", row.give_or_take_ns ? Json(row.changed()) : Json(nullptr)}};
}

Json FromPath(const PathComparison& path) {
  Json rows = Json::array();
  for (const PathChange& row : path.rows) {
    Json of_row = {{"what", ActivityName(row.what)}};
    of_row.update(FromChange(row));
    rows.push_back(std::move(of_row));
  }
  return {{"rounds", path.rounds},
          {"without_first", path.without_first},
          {"without_path", path.without_path},
          {"only_in_a", path.only_in_a},
          {"only_in_b", path.only_in_b},
          {"round", FromChange(path.round)},
          {"rows", std::move(rows)},
          {"misses_of_all", kMissesOfAll}};
}

Json FromFindings(const std::vector<FindingChange>& changes) {
  const auto of_run = [](const std::optional<Finding>& finding) -> Json {
    if (!finding) return nullptr;
    return {{"workers", finding->workers},
            {"text", finding->text},
            {"grade", GradeName(finding->grade)},
            {"saves_ns_per_round", finding->saves_ns_per_round}};
  };
  Json list = Json::array();
  for (const FindingChange& change : changes)
    list.push_back({{"id", change.any().id}, {"a", of_run(change.a)}, {"b", of_run(change.b)}});
  return list;
}

Json FromWorkers(const std::vector<WorkerChange>& changes) {
  const auto of_run = [](const WorkerFigures& figures) -> Json {
    return {{"train_seconds", figures.train_seconds},
            {"encode_seconds", figures.encode_seconds},
            {"apply_seconds", figures.apply_seconds},
            {"drag_seconds", figures.drag_seconds}};
  };
  Json list = Json::array();
  for (const WorkerChange& change : changes)
    list.push_back({{"worker", change.worker}, {"a", of_run(change.a)}, {"b", of_run(change.b)}});
  return list;
}

}  // namespace

std::string FormatComparisonJson(const RunComparison& comparison, const NamedRun& a,
                                 const NamedRun& b) {
  Json settings = Json::array(), figures = Json::array();
  for (const SettingChange& change : comparison.settings)
    settings.push_back({{"key", change.key}, {"a", OrNull(change.a)}, {"b", OrNull(change.b)}});
  for (const FigureChange& change : comparison.figures)
    figures.push_back({{"figure", change.name}, {"a", OrNull(change.a)}, {"b", OrNull(change.b)}});
  const SameParameters& same = comparison.parameters;
  Json json = {{"format", "interlude-run-comparison"},
               {"version", 1},
               {"a", FromRun(a)},
               {"b", FromRun(b)},
               {"path", FromPath(comparison.path)},
               {"parameters",
                {{"rounds_of_both", same.rounds},
                 {"last_same_round", OrNull(same.last_same)},
                 {"first_different_round", OrNull(same.first_differs)}}},
               {"settings", std::move(settings)},
               {"figures", std::move(figures)},
               {"findings", FromFindings(comparison.findings)},
               {"workers", FromWorkers(comparison.workers)},
               {"notes",
                {"the noise is that of the rounds within each run, not that from run to run",
                 "only the rows of path are compared with noise"}}};
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

}  // namespace interlude
