// Puts a model's running statistics back when an evaluation that moved them is over.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "train/models.h"

namespace interlude {

/// The model outlives it. One thread.
class KeptStatistics {
 public:
  explicit KeptStatistics(const Model& model) : model_(model) {
    for (const at::Tensor& tensor : model_.Statistics()) values_.push_back(tensor.clone());
  }
  ~KeptStatistics() {
    const std::vector<at::Tensor> now = model_.Statistics();
    for (size_t i = 0; i < now.size(); ++i) now[i].copy_(values_[i]);
  }
  KeptStatistics(const KeptStatistics&) = delete;
  KeptStatistics& operator=(const KeptStatistics&) = delete;

  /// Whether the model has none.
  bool empty() const { return values_.empty(); }

 private:
  const Model& model_;
  std::vector<at::Tensor> values_;
};

}  // namespace interlude
