#include "ledger/confusion.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace interlude {

namespace {

auto Place(const ConfusionCell& cell) { return std::tie(cell.label, cell.predicted); }

}  // namespace

void AddConfusion(const Confusion& part, Confusion& sum) {
  Confusion merged;
  merged.reserve(std::max(part.size(), sum.size()));
  auto a = part.begin();
  auto b = sum.begin();
  while (a != part.end() || b != sum.end()) {
    if (b == sum.end() || (a != part.end() && Place(*a) < Place(*b))) {
      merged.push_back(*a++);
    } else if (a == part.end() || Place(*b) < Place(*a)) {
      merged.push_back(*b++);
    } else {
      merged.push_back({a->label, a->predicted, a->count + b->count});
      ++a;
      ++b;
    }
  }
  sum = std::move(merged);
}

Status CheckConfusion(const Confusion& confusion, uint32_t classes, uint64_t samples,
                      uint64_t correct) {
  if (confusion.empty()) return OkStatus();
  if (classes > kMostConfusionClasses || confusion.size() > kMostConfusionCells) {
    return InvalidArgumentError("{} counts of which of {} classes were confused; at most {} of {}",
                                confusion.size(), classes, kMostConfusionCells,
                                kMostConfusionClasses);
  }
  uint64_t sum = 0;
  uint64_t diagonal = 0;
  for (size_t i = 0; i < confusion.size(); ++i) {
    const ConfusionCell& cell = confusion[i];
    if (cell.label >= classes || cell.predicted >= classes) {
      return InvalidArgumentError("class {} taken for class {}, of {} classes", cell.label,
                                  cell.predicted, classes);
    }
    if (i > 0 && !(Place(confusion[i - 1]) < Place(cell)))
      return InvalidArgumentError("the counts of confused classes are not in order");
    if (cell.count == 0 || cell.count > samples - sum) {
      return InvalidArgumentError("class {} taken for class {} {} times, of {} samples", cell.label,
                                  cell.predicted, cell.count, samples);
    }
    sum += cell.count;
    if (cell.label == cell.predicted) diagonal += cell.count;
  }
  if (sum == samples && diagonal == correct) return OkStatus();
  return InvalidArgumentError(
      "the counts of confused classes are of {} samples with {} right, the evaluation of {} with "
      "{} right",
      sum, diagonal, samples, correct);
}

std::vector<ClassScore> ClassScores(const Confusion& confusion) {
  std::map<uint32_t, ClassScore> scores;
  for (const ConfusionCell& cell : confusion) {
    scores[cell.label].samples += cell.count;
    scores[cell.predicted].predicted += cell.count;
    if (cell.label == cell.predicted) scores[cell.label].correct += cell.count;
  }
  std::vector<ClassScore> list;
  for (auto& [label, score] : scores) {
    score.label = label;
    list.push_back(score);
  }
  return list;
}

std::vector<ClassScore> WorstClasses(std::vector<ClassScore> scores, size_t most) {
  std::erase_if(scores, [](const ClassScore& score) { return score.samples == 0; });
  std::ranges::stable_sort(scores, {}, &ClassScore::accuracy);
  if (scores.size() > most) scores.resize(most);
  return scores;
}

std::vector<ConfusionCell> MostConfused(const Confusion& confusion, size_t most) {
  std::vector<ConfusionCell> wrong;
  for (const ConfusionCell& cell : confusion) {
    if (cell.label != cell.predicted) wrong.push_back(cell);
  }
  std::ranges::stable_sort(wrong, std::greater<>(), &ConfusionCell::count);
  if (wrong.size() > most) wrong.resize(most);
  return wrong;
}

}  // namespace interlude
