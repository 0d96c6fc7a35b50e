#include "train/rank_step.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "base/hash128.h"
#include "train/tensor_xxh3.h"

namespace interlude {
namespace {

// The pieces that a device hashes side by side.
constexpr int64_t kPieceValues = 1 << 18;

Hash128 HashOf(const at::Tensor& parameters) {
  if (parameters.is_cpu())
    return HashFloats({parameters.data_ptr<float>(), static_cast<size_t>(parameters.numel())});
  const std::vector<at::Tensor> pieces = parameters.split(kPieceValues);
  return RootHash(TensorXxh3(parameters.device()).Hash(pieces));
}

}  // namespace

StatusOr<StepState> AgreeOnStep(RankGroup& ranks, at::Tensor& gradient, const StepState& own) {
  INTERLUDE_RETURN_IF_ERROR(ranks.Sum(gradient));
  gradient.mul_(1.0 / ranks.ranks());
  at::Tensor both = at::empty({2}, at::kDouble);
  both[0] = own.loss / ranks.ranks();
  both[1] = own.go_on ? 0.0 : 1.0;
  both = both.to(gradient.device());
  INTERLUDE_RETURN_IF_ERROR(ranks.Sum(both));
  both = both.cpu();
  return StepState{.loss = both[0].item<double>(), .go_on = both[1].item<double>() == 0};
}

Status CheckSameParameters(RankGroup& ranks, const at::Tensor& parameters, uint32_t round) {
  const Hash128 own = HashOf(parameters);
  at::Tensor halves = at::empty({2}, at::kLong);
  halves[0] = std::bit_cast<int64_t>(own.high);
  halves[1] = std::bit_cast<int64_t>(own.low);
  halves = halves.to(parameters.device());
  INTERLUDE_RETURN_IF_ERROR(ranks.Broadcast(halves));
  halves = halves.cpu();
  const Hash128 first{.high = std::bit_cast<uint64_t>(halves[0].item<int64_t>()),
                      .low = std::bit_cast<uint64_t>(halves[1].item<int64_t>())};
  if (first == own) return OkStatus();
  return DataLossError(
      "after round {} the parameters of rank {} hash to {}, those of rank 0 to {}: a device or its "
      "memory computes wrongly, or their kinds differ",
      round, ranks.rank(), own.ToHex(), first.ToHex());
}

}  // namespace interlude
