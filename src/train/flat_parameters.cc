#include "train/flat_parameters.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace interlude {

namespace {

at::Tensor View(Buffer& memory) {
  return at::from_blob(memory.floats().data(), {static_cast<int64_t>(memory.floats().size())},
                       at::kFloat);
}

}  // namespace

FlatParameters::FlatParameters(Layout layout)
    : layout_(std::move(layout)),
      value_memory_(Buffer::Floats("train parameters", layout_.total_params())),
      gradient_memory_(Buffer::Floats("train gradient", layout_.total_params())),
      values_(View(value_memory_)),
      gradient_(View(gradient_memory_)) {}

const ParameterSpec& FlatParameters::Find(const std::string& name) const {
  const auto found = std::ranges::find(layout_.parameters(), name, &ParameterSpec::name);
  INTERLUDE_CHECK(found != layout_.parameters().end(), "the layout has no tensor {}", name);
  return *found;
}

at::Tensor FlatParameters::Leaf(const std::string& name) { return Leaf(name, Find(name).shape); }

at::Tensor FlatParameters::Leaf(const std::string& name, at::IntArrayRef shape) {
  const size_t begin = Find(name).offset;
  const int64_t count =
      std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  const size_t end = begin + static_cast<size_t>(count);
  INTERLUDE_CHECK(
      std::ranges::any_of(layout_.parameters(),
                          [end](const ParameterSpec& s) { return s.offset + s.count == end; }),
      "{} values from {} on end within a tensor", count, name);
  const auto offset = static_cast<int64_t>(begin);
  at::Tensor leaf = values_.narrow(0, offset, count).view(shape).detach();
  leaf.set_requires_grad(true);
  // Autograd adds to a gradient that is already there in place, so it arrives in the flat sequence.
  leaf.mutable_grad() = gradient_.narrow(0, offset, count).view(shape);
  return leaf;
}

}  // namespace interlude
