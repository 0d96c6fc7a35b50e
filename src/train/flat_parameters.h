// A model's parameters and their gradient as two flat fp32 sequences in layout order, and LibTorch
// tensors that are views of them: what autograd and the optimizer change is the memory that is
// exchanged.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <span>
#include <string>

#include "base/memory_account.h"
#include "layout/layout.h"
#include "train/device.h"

namespace interlude {

/// Memory stays where it is for the object's life. One thread at a time.
class FlatParameters {
 public:
  /// Zeros for both sequences.
  explicit FlatParameters(Layout layout, const TrainDevice& device = {});
  FlatParameters(const FlatParameters&) = delete;
  FlatParameters& operator=(const FlatParameters&) = delete;

  /// A leaf of the autograd graph whose values and gradient are views of the flat sequences,
  /// beginning at tensor `name`. `shape` may reach over the tensors that follow (query, key and
  /// value as one matrix), but must end where one of them ends. Aborts on a name that the layout
  /// lacks.
  at::Tensor Leaf(const std::string& name, at::IntArrayRef shape);
  /// The leaf of one tensor in its own shape.
  at::Tensor Leaf(const std::string& name);

  const Layout& layout() const { return layout_; }
  /// The values in host memory; empty where they aren't.
  std::span<float> span() { return value_memory_.floats(); }
  /// The whole sequences, one-dimensional.
  at::Tensor& values() { return values_; }
  at::Tensor& gradient() { return gradient_; }

 private:
  const ParameterSpec& Find(const std::string& name) const;

  Layout layout_;
  Buffer value_memory_;  // both empty where the tensors own their memory
  Buffer gradient_memory_;
  at::Tensor values_;
  at::Tensor gradient_;
  std::array<NamedMemory, 2> names_;  // of tensors that own their memory
};

}  // namespace interlude
