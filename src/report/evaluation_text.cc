#include "report/evaluation_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "ledger/data_facts.h"
#include "report/evaluation_json.h"
#include "report/table.h"

namespace interlude {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kNameWidth = 24;
constexpr size_t kMostPairs = 5;

double Percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string Name(const std::vector<std::string>& names, uint32_t label) {
  return Printable(ClassName(names, label), kNameWidth);
}

/// What `label` is taken for most, besides itself.
std::string TakenFor(const Confusion& confusion, const std::vector<std::string>& names,
                     const ClassScore& score) {
  Confusion row;
  for (const ConfusionCell& cell : confusion) {
    if (cell.label == score.label) row.push_back(cell);
  }
  const std::vector<ConfusionCell> wrong = MostConfused(row, 1);
  if (wrong.empty()) return "-";
  return fmt::format("{} ({:.1f} %)", Name(names, wrong[0].predicted),
                     Percent(wrong[0].count, score.samples));
}

}  // namespace

std::string AccuracyText(const EvaluationRecord& evaluation) {
  std::string text = fmt::format("{:.2f} %", Percent(evaluation.correct, evaluation.samples));
  if (evaluation.classes > 0)
    text += fmt::format(", top 5: {:.2f} %", Percent(evaluation.top5, evaluation.samples));
  return text;
}

std::string ClassScoresText(const EvaluationRecord& evaluation,
                            const std::vector<std::string>& names, size_t most) {
  if (evaluation.confusion.empty()) return "";
  std::vector<ClassScore> scores = ClassScores(evaluation.confusion);
  if (most > 0) scores = WorstClasses(std::move(scores), most);
  Table classes({"class", "samples", "right %", "taken for most"}, 1);
  for (const ClassScore& score : scores) {
    classes.Add({Name(names, score.label), std::to_string(score.samples),
                 score.samples == 0 ? "-" : fmt::format("{:.2f}", 100 * score.accuracy()),
                 TakenFor(evaluation.confusion, names, score)});
  }
  std::string text = classes.ToString();
  const std::vector<ConfusionCell> pairs = MostConfused(evaluation.confusion, kMostPairs);
  if (pairs.empty()) return text;
  Table confused({"confused most", "taken for", "samples"}, 2);
  for (const ConfusionCell& pair : pairs) {
    confused.Add(
        {Name(names, pair.label), Name(names, pair.predicted), std::to_string(pair.count)});
  }
  return text + "\n" + confused.ToString();
}

nlohmann::ordered_json internal::JsonOfEvaluation(const EvaluationRecord& e,
                                                  const std::vector<std::string>& names) {
  Json json = {{"after_rounds", e.after_rounds},
               {"samples", e.samples},
               {"correct", e.correct},
               {"mean_loss", e.mean_loss}};
  if (e.classes > 0) json["top5"] = e.top5;
  if (e.confusion.empty()) return json;
  json["classes"] = Json::array();
  for (const ClassScore& score : ClassScores(e.confusion)) {
    json["classes"].push_back({{"label", score.label},
                               {"name", ClassName(names, score.label)},
                               {"samples", score.samples},
                               {"correct", score.correct},
                               {"predicted", score.predicted}});
  }
  json["confusion"] = Json::array();
  for (const ConfusionCell& cell : e.confusion)
    json["confusion"].push_back({cell.label, cell.predicted, cell.count});
  return json;
}

std::string EvaluationJson(const EvaluationRecord& evaluation,
                           const std::vector<std::string>& names) {
  return internal::JsonOfEvaluation(evaluation, names)
             .dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) +
         "\n";
}

}  // namespace interlude
