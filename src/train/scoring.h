// Adds up how right a model's logits are: right and nearly right, by class, and the loss. One
// thread.
#pragma once

#include <ATen/ATen.h>

#include <map>

#include "worker/local_trainer.h"

namespace interlude {

class Scorer {
 public:
  explicit Scorer(uint32_t classes) : classes_(classes) { result_.classes = classes; }

  /// `logits` is fp32 [batch, classes], `labels` int64 [batch].
  void Add(const at::Tensor& logits, const at::Tensor& labels);
  /// Of all that was added. A sample is right where its class has the largest logit (of equal ones
  /// the first), and among the first five where fewer than five are larger. NaN is larger than any.
  EvaluationResult result() const;

 private:
  const uint32_t classes_;
  EvaluationResult result_;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> confusion_;  // by label and predicted class
};

}  // namespace interlude
