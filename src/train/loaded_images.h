// Batches of pictures as tensors. One thread.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "images/batch_loader.h"

namespace interlude {

/// How many pictures a model computes at once where nothing is learned: of large ones fewer, by the
/// elements of one.
inline uint64_t EvaluationBatch(size_t elements) {
  constexpr uint64_t kMostPictures = 250;
  constexpr uint64_t kMostElements = uint64_t{1} << 23;
  return std::clamp<uint64_t>(kMostElements / elements, 1, kMostPictures);
}

/// The pictures as fp32 [batch, channels, side, side] on the CPU. The tensor keeps the loader's
/// memory as long as it is used.
inline at::Tensor ImagesOf(LoadedBatch batch, int64_t channels, int64_t side) {
  const auto loaded = std::make_shared<LoadedBatch>(std::move(batch));
  const auto count = static_cast<int64_t>(loaded->labels().size());
  return at::from_blob(
      loaded->images().data(), {count, channels, side, side}, [loaded](void*) {}, at::kFloat);
}

}  // namespace interlude
