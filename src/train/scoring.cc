#include "train/scoring.h"

namespace interlude {

void Scorer::Add(const at::Tensor& logits, const at::Tensor& labels) {
  constexpr int64_t kFirst = 5;
  const at::Tensor predicted = logits.argmax(1);
  const at::Tensor own = logits.gather(1, labels.unsqueeze(1));
  result_.correct += predicted.eq(labels).sum().item<int64_t>();
  // Not gt: a logit that is not a number counts as larger, as it does for argmax.
  result_.top5 += logits.le(own).logical_not_().sum(1).lt(kFirst).sum().item<int64_t>();
  result_.loss_sum += at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum).item<float>();
  result_.samples += labels.size(0);
  if (classes_ > kMostConfusionClasses) return;
  const at::Tensor labels_here = labels.cpu();
  const at::Tensor predicted_here = predicted.cpu();
  const auto* const label = labels_here.data_ptr<int64_t>();
  const auto* const prediction = predicted_here.data_ptr<int64_t>();
  for (int64_t i = 0; i < labels.size(0); ++i) {
    ++confusion_[{static_cast<uint32_t>(label[i]), static_cast<uint32_t>(prediction[i])}];
  }
}

EvaluationResult Scorer::result() const {
  EvaluationResult result = result_;
  for (const auto& [classes, count] : confusion_)
    result.confusion.push_back({classes.first, classes.second, count});
  return result;
}

}  // namespace interlude
