#include "train/tensor_non_finite.h"

#include <algorithm>
#include <cstdint>

namespace interlude {
namespace {

constexpr int64_t kPiece = int64_t{1} << 22;
constexpr int32_t kInfinity = 0x7f800000;

}  // namespace

std::optional<size_t> FindNonFinite(const at::Tensor& values) {
  for (int64_t begin = 0; begin < values.numel(); begin += kPiece) {
    const at::Tensor piece = values.narrow(0, begin, std::min(kPiece, values.numel() - begin));
    const at::Tensor bad = piece.view(at::kInt).bitwise_and(kInfinity).eq(kInfinity);
    if (!bad.any().item<bool>()) continue;
    return static_cast<size_t>(begin + bad.nonzero().select(0, 0).item<int64_t>());
  }
  return std::nullopt;
}

}  // namespace interlude
