// The trimmed mean in vectors, written once with Highway and compiled once per instruction set:
// sixteen (eight, four) parameters at a time go through a sorting network, up to sixteen
// contributors in registers. Sorted values are the same whichever way they were sorted, and the sum
// has the specification's order, so the bits are TrimmedMeanOf's.
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "optim/sort_network.h"
#include "optim/trimmed_mean.h"

// Vectors without a size at compile time can't be in arrays; those machines have NEON as well.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optim/trimmed_mean_simd.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
// A namespace of its own: codec/'s vectors are in interlude's.
namespace interlude::trimmed_mean {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Tag>;
constexpr size_t kLanes = hn::MaxLanes(Tag());

HWY_INLINE void CompareExchange(Vector& low, Vector& high) {
  const Vector smaller = hn::Min(low, high);
  high = hn::Max(low, high);
  low = smaller;
}

template <size_t kCount, size_t... kIndex>
HWY_INLINE void SortVectors([[maybe_unused]] Vector* values, std::index_sequence<kIndex...>) {
  [[maybe_unused]] constexpr auto kPairs = SortPairs<kCount>();
  (CompareExchange(values[kPairs[kIndex].first], values[kPairs[kIndex].second]), ...);
}

/// Parameters [0, whole vectors of count). shares[r] is what the r-th of the ascending order is
/// multiplied with: 0 for what is cut, which adds nothing.
template <size_t kCount>
void TrimFew(const float* const* values, const float* shares, size_t count, float* merged) {
  const Tag tag;
  for (size_t i = 0; i + kLanes <= count; i += kLanes) {
    Vector column[kCount];
    for (size_t k = 0; k < kCount; ++k) {
      column[k] = hn::Add(hn::LoadU(tag, values[k] + i), hn::Zero(tag));
    }
    SortVectors<kCount>(column, std::make_index_sequence<SortPairs<kCount>().size()>());
    Vector sum = hn::Zero(tag);
    for (size_t r = 0; r < kCount; ++r) {
      sum = hn::Add(sum, hn::Mul(hn::Set(tag, shares[r]), column[r]));
    }
    hn::StoreU(sum, tag, merged + i);
  }
}

/// The same with as many as there are, in memory: several times slower a contributor.
void TrimMany(const float* const* values, std::span<const float> shares, size_t count,
              float* merged) {
  const Tag tag;
  const std::vector<SortPair> pairs = SortPairs(shares.size());
  std::vector<float> columns(shares.size() * kLanes);
  const auto column = [&](size_t k) { return columns.data() + k * kLanes; };
  for (size_t i = 0; i + kLanes <= count; i += kLanes) {
    for (size_t k = 0; k < shares.size(); ++k) {
      hn::StoreU(hn::Add(hn::LoadU(tag, values[k] + i), hn::Zero(tag)), tag, column(k));
    }
    for (const SortPair& pair : pairs) {
      Vector low = hn::LoadU(tag, column(pair.first));
      Vector high = hn::LoadU(tag, column(pair.second));
      CompareExchange(low, high);
      hn::StoreU(low, tag, column(pair.first));
      hn::StoreU(high, tag, column(pair.second));
    }
    Vector sum = hn::Zero(tag);
    for (size_t r = 0; r < shares.size(); ++r) {
      sum = hn::Add(sum, hn::Mul(hn::Set(tag, shares[r]), hn::LoadU(tag, column(r))));
    }
    hn::StoreU(sum, tag, merged + i);
  }
}

constexpr size_t kFew = 16;
using TrimFewFunction = void (*)(const float* const*, const float*, size_t, float*);

template <size_t... kIndex>
constexpr std::array<TrimFewFunction, kFew> TrimFewTable(std::index_sequence<kIndex...>) {
  return {TrimFew<kIndex + 1>...};
}

/// How many parameters are done: all whole vectors.
size_t TrimWhole(std::span<const float* const> values, std::span<const float> shares, size_t count,
                 float* merged) {
  static constexpr auto kTable = TrimFewTable(std::make_index_sequence<kFew>());
  if (values.size() <= kFew) {
    kTable[values.size() - 1](values.data(), shares.data(), count, merged);
  } else {
    TrimMany(values.data(), shares, count, merged);
  }
  return count / kLanes * kLanes;
}

const char* CompiledTarget() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace interlude::trimmed_mean
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace interlude {
namespace trimmed_mean {

HWY_EXPORT(TrimWhole);
HWY_EXPORT(CompiledTarget);

const char* TargetName() { return HWY_DYNAMIC_DISPATCH(CompiledTarget)(); }

size_t BestTrimWhole(std::span<const float* const> values, std::span<const float> shares,
                     std::span<float> merged) {
  return HWY_DYNAMIC_DISPATCH(TrimWhole)(values, shares, merged.size(), merged.data());
}

}  // namespace trimmed_mean

const char* TrimmedMeanTargetName() { return trimmed_mean::TargetName(); }

void TrimmedMean(std::span<const float* const> values, size_t cut, std::span<float> merged) {
  INTERLUDE_CHECK(2 * cut < values.size(), "{} cut from each end of {} values", cut, values.size());
  std::vector<float> shares(values.size(), 0.0f);
  const float share = 1.0f / static_cast<float>(values.size() - 2 * cut);
  for (size_t r = cut; r < values.size() - cut; ++r) shares[r] = share;
  std::vector<float> column(values.size());
  for (size_t i = trimmed_mean::BestTrimWhole(values, shares, merged); i < merged.size(); ++i) {
    for (size_t k = 0; k < values.size(); ++k) column[k] = values[k][i];
    merged[i] = TrimmedMeanOf(column, cut);
  }
}

}  // namespace interlude
#endif  // HWY_ONCE
