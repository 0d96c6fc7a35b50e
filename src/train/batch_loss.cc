#include "train/batch_loss.h"

namespace interlude {

namespace {

constexpr int64_t kIgnoreNoLabel = -100;

at::Tensor CrossEntropy(const at::Tensor& logits, const at::Tensor& labels, double smoothing,
                        at::Reduction::Reduction reduction) {
  return at::cross_entropy_loss(logits, labels, {}, reduction, kIgnoreNoLabel, smoothing);
}

}  // namespace

Batch Batch::Slice(int64_t begin, int64_t count) const {
  const auto part = [=](const at::Tensor& all) {
    return all.defined() ? all.narrow(0, begin, count) : all;
  };
  return {part(images), part(labels), part(partner_labels), part(shares)};
}

Batch MixUp(const Batch& batch, const at::Tensor& partners, const at::Tensor& shares) {
  const at::Tensor own = shares.view({-1, 1, 1, 1});
  return {batch.images * own + batch.images.index_select(0, partners) * (1 - own), batch.labels,
          batch.labels.index_select(0, partners), shares};
}

at::Tensor BatchLoss(const at::Tensor& logits, const Batch& batch, double smoothing) {
  if (!batch.is_mixed()) return CrossEntropy(logits, batch.labels, smoothing, at::Reduction::Mean);
  const at::Tensor own = CrossEntropy(logits, batch.labels, smoothing, at::Reduction::None);
  const at::Tensor other =
      CrossEntropy(logits, batch.partner_labels, smoothing, at::Reduction::None);
  return (own * batch.shares + other * (1 - batch.shares)).mean();
}

}  // namespace interlude
