#include "images/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"

namespace interlude {
namespace {

constexpr int kWeightBits = 14;
/// Bits behind the point that a row keeps between the two passes: 255 << 7 is still an int16.
constexpr int kRowBits = 7;

void CopyBox(const PictureView& picture, const PictureBox& box, Picture& out) {
  const size_t offset = size_t{box.x} * picture.channels;
  for (uint32_t y = 0; y < box.height; ++y) {
    std::memcpy(out.row(y), picture.row(box.y + y) + offset, out.row_bytes());
  }
}

/// The weights of one output position as differences of rounded partial sums: none is negative and
/// their sum is exact, however many there are.
void RoundWeights(const std::vector<double>& exact, double sum, int16_t* weights) {
  double partial = 0;
  int before = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    partial += exact[i];
    const int rounded = static_cast<int>(partial / sum * (1 << kWeightBits) + 0.5);
    weights[i] = static_cast<int16_t>(rounded - before);
    before = rounded;
  }
}

/// sums[i] += weight * row[i]
void AddRow(const uint8_t* __restrict row, int16_t weight, size_t count, int32_t* __restrict sums) {
  for (size_t i = 0; i < count; ++i) sums[i] += weight * static_cast<int16_t>(row[i]);
}

void RoundRow(const int32_t* __restrict sums, size_t count, int16_t* __restrict row) {
  constexpr int kShift = kWeightBits - kRowBits;
  for (size_t i = 0; i < count; ++i) {
    row[i] = static_cast<int16_t>((sums[i] + (1 << (kShift - 1))) >> kShift);
  }
}

/// One row of `kChannels` side by side.
template <int kChannels>
void ScaleRow(const int16_t* row, const FilterTaps& taps, uint32_t width, uint8_t* out) {
  constexpr int kShift = kWeightBits + kRowBits;
  const int16_t* weights = taps.weights.data();
  for (uint32_t x = 0; x < width; ++x, weights += taps.count) {
    const int16_t* from = row + size_t{taps.first[x]} * kChannels;
    int32_t sums[kChannels] = {};
    for (uint32_t tap = 0; tap < taps.count; ++tap) {
      for (int c = 0; c < kChannels; ++c) sums[c] += weights[tap] * from[tap * kChannels + c];
    }
    for (int c = 0; c < kChannels; ++c) {
      *out++ = static_cast<uint8_t>((sums[c] + (1 << (kShift - 1))) >> kShift);
    }
  }
}

}  // namespace

FilterTaps TriangleTaps(uint32_t from, uint32_t to) {
  const double scale = static_cast<double>(from) / to;
  const double support = std::max(scale, 1.0);
  FilterTaps taps;
  taps.count = std::min(from, static_cast<uint32_t>(std::ceil(support)) * 2 + 1);
  taps.first.resize(to);
  taps.weights.resize(size_t{to} * taps.count);
  std::vector<double> exact;
  for (uint32_t i = 0; i < to; ++i) {
    const double center = (i + 0.5) * scale;
    const auto begin = static_cast<uint32_t>(std::max(0.0, std::floor(center - support + 0.5)));
    const auto end =
        std::min<uint32_t>(from, static_cast<uint32_t>(std::floor(center + support + 0.5)));
    // The last positions' taps all lie inside: their first ones get no weight.
    taps.first[i] = std::min(begin, from - taps.count);
    exact.assign(taps.count, 0.0);
    double sum = 0;
    for (uint32_t source = begin; source < end; ++source) {
      const double weight = std::max(0.0, 1.0 - std::abs(source + 0.5 - center) / support);
      exact[source - taps.first[i]] = weight;
      sum += weight;
    }
    RoundWeights(exact, sum, &taps.weights[size_t{i} * taps.count]);
  }
  return taps;
}

void Resize(const PictureView& picture, const PictureBox& box, uint32_t width, uint32_t height,
            ResizeScratch& scratch, Picture& out) {
  INTERLUDE_CHECK(box.width > 0 && box.height > 0 && width > 0 && height > 0 &&
                      box.x + box.width <= picture.width && box.y + box.height <= picture.height,
                  "{} x {} at {}, {} of {} x {}", box.width, box.height, box.x, box.y,
                  picture.width, picture.height);
  out.Reshape(width, height, picture.channels);
  if (width == box.width && height == box.height) return CopyBox(picture, box, out);
  const FilterTaps down = TriangleTaps(box.height, height);
  const FilterTaps across = TriangleTaps(box.width, width);
  const size_t count = size_t{box.width} * picture.channels;
  const size_t offset = size_t{box.x} * picture.channels;
  scratch.sums.resize(count);
  scratch.row.resize(count);
  for (uint32_t y = 0; y < height; ++y) {
    std::fill(scratch.sums.begin(), scratch.sums.end(), 0);
    for (uint32_t tap = 0; tap < down.count; ++tap) {
      const int16_t weight = down.weights[size_t{y} * down.count + tap];
      if (weight == 0) continue;
      AddRow(picture.row(box.y + down.first[y] + tap) + offset, weight, count, scratch.sums.data());
    }
    RoundRow(scratch.sums.data(), count, scratch.row.data());
    if (picture.channels == 3) {
      ScaleRow<3>(scratch.row.data(), across, width, out.row(y));
    } else {
      ScaleRow<1>(scratch.row.data(), across, width, out.row(y));
    }
  }
}

}  // namespace interlude
