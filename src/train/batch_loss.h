// Batches of training pictures and their loss: cross entropy, with labels that may be smoothed and
// pictures that may be mixed in pairs. Tensors in, tensors out; one thread.
#pragma once

#include <ATen/ATen.h>

namespace interlude {

/// Pictures and what they show. Where pictures are mixed, picture i is `shares[i]` of one that
/// shows labels[i] and 1 - shares[i] of one that shows partner_labels[i].
struct Batch {
  at::Tensor images;          // fp32 [size, channels, height, width]
  at::Tensor labels;          // int64 [size]
  at::Tensor partner_labels;  // int64 [size]; undefined: nothing is mixed
  at::Tensor shares;          // fp32 [size], from 0 to 1; undefined likewise

  int64_t size() const { return labels.size(0); }
  bool is_mixed() const { return shares.defined(); }
  /// Samples [begin, begin + count): views of this.
  Batch Slice(int64_t begin, int64_t count) const;
};

/// Mixup (Zhang et al. 2018): each picture times its share, plus picture partners[i] of the same
/// batch times the rest. `partners` is int64 [size], `shares` fp32 [size]; `batch` is not mixed.
Batch MixUp(const Batch& batch, const at::Tensor& partners, const at::Tensor& shares);

/// The mean over the batch of the cross entropy between `logits` (fp32 [size, classes]) and the
/// labels, of which `smoothing` goes to all classes alike: PyTorch's cross_entropy with
/// label_smoothing; a mixed picture's loss is the mean of those for its two labels by its shares.
at::Tensor BatchLoss(const at::Tensor& logits, const Batch& batch, double smoothing);

}  // namespace interlude
