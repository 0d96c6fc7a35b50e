#include "train/flat_parameters.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "train/name_tensor.h"

namespace interlude {

namespace {

constexpr char kValues[] = "parameters";
constexpr char kGradient[] = "gradients";

Buffer HostMemory(const char* owner, const Layout& layout, const TrainDevice& device) {
  return device.in_host_memory ? Buffer::Floats(owner, layout.total_params()) : Buffer();
}

at::Tensor Sequence(Buffer& memory, const Layout& layout, const TrainDevice& device) {
  const auto count = static_cast<int64_t>(layout.total_params());
  const at::TensorOptions options(at::kFloat);
  return device.in_host_memory ? at::from_blob(memory.floats().data(), {count}, options)
                               : at::zeros({count}, options.device(device.device));
}

}  // namespace

FlatParameters::FlatParameters(Layout layout, const TrainDevice& device)
    : layout_(std::move(layout)),
      value_memory_(HostMemory(kValues, layout_, device)),
      gradient_memory_(HostMemory(kGradient, layout_, device)),
      values_(Sequence(value_memory_, layout_, device)),
      gradient_(Sequence(gradient_memory_, layout_, device)) {
  if (!device.in_host_memory)
    names_ = {NameTensor(kValues, values_), NameTensor(kGradient, gradient_)};
}

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
