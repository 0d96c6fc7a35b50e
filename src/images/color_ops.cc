#include "images/color_ops.h"

#include <algorithm>
#include <array>

namespace interlude {
namespace {

uint8_t Clamped(float value) {
  return static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f) + 0.5f);
}

uint8_t Blend(uint8_t other, uint8_t value, float factor) {
  const float base = other;
  return Clamped(base + factor * (static_cast<float>(value) - base));
}

using Table = std::array<uint8_t, 256>;

void Apply(const Table& table, Picture& picture) {
  for (uint8_t& value : picture.bytes) value = table[value];
}

/// A table of its own for each color.
template <typename MakeTable>
void ApplyToEachColor(Picture& picture, MakeTable&& make_table) {
  for (uint32_t color = 0; color < picture.channels; ++color) {
    std::array<uint32_t, 256> counts = {};
    for (size_t i = color; i < picture.bytes.size(); i += picture.channels) {
      ++counts[picture.bytes[i]];
    }
    const Table table = make_table(counts);
    for (size_t i = color; i < picture.bytes.size(); i += picture.channels) {
      picture.bytes[i] = table[picture.bytes[i]];
    }
  }
}

Table Identity() {
  Table table;
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<uint8_t>(i);
  return table;
}

uint32_t GrayTimes1000(const uint8_t* pixel) {
  return 299u * pixel[0] + 587u * pixel[1] + 114u * pixel[2];
}

uint8_t MeanGray(const Picture& picture) {
  uint64_t sum = 0;
  const uint64_t pixels = uint64_t{picture.width} * picture.height;
  if (picture.channels == 1) {
    for (const uint8_t value : picture.bytes) sum += 1000u * value;
  } else {
    for (size_t i = 0; i < picture.bytes.size(); i += 3) sum += GrayTimes1000(&picture.bytes[i]);
  }
  return static_cast<uint8_t>((sum + 500 * pixels) / (1000 * pixels));
}

}  // namespace

void ScaleBrightness(float factor, Picture& picture) {
  Table table;
  for (size_t i = 0; i < table.size(); ++i) table[i] = Blend(0, static_cast<uint8_t>(i), factor);
  Apply(table, picture);
}

void ScaleContrast(float factor, Picture& picture) {
  const uint8_t mean = MeanGray(picture);
  Table table;
  for (size_t i = 0; i < table.size(); ++i) table[i] = Blend(mean, static_cast<uint8_t>(i), factor);
  Apply(table, picture);
}

void ScaleSaturation(float factor, Picture& picture) {
  if (picture.channels != 3) return;
  for (size_t i = 0; i < picture.bytes.size(); i += 3) {
    uint8_t* const pixel = &picture.bytes[i];
    const auto gray = static_cast<uint8_t>((GrayTimes1000(pixel) + 500) / 1000);
    for (int c = 0; c < 3; ++c) pixel[c] = Blend(gray, pixel[c], factor);
  }
}

void ScaleSharpness(float factor, Picture& picture) {
  if (picture.width < 3 || picture.height < 3) return;
  const Picture original = picture;
  const PictureView from = original.view();
  const size_t step = picture.channels;
  for (uint32_t y = 1; y + 1 < picture.height; ++y) {
    const uint8_t *above = from.row(y - 1), *row = from.row(y), *below = from.row(y + 1);
    uint8_t* const out = picture.row(y);
    // The edge pixels stay. The middle one counts five times, as in PIL's SMOOTH.
    for (size_t i = step; i + step < picture.row_bytes(); ++i) {
      const int sum = above[i - step] + above[i] + above[i + step] + row[i - step] + 5 * row[i] +
                      row[i + step] + below[i - step] + below[i] + below[i + step];
      out[i] = Blend(static_cast<uint8_t>((sum + 6) / 13), row[i], factor);
    }
  }
}

void Posterize(int bits, Picture& picture) {
  const auto mask = static_cast<uint8_t>(0xff << (8 - std::clamp(bits, 1, 8)));
  for (uint8_t& value : picture.bytes) value &= mask;
}

void Solarize(int threshold, Picture& picture) {
  for (uint8_t& value : picture.bytes) {
    if (value >= threshold) value = static_cast<uint8_t>(255 - value);
  }
}

void AutoContrast(Picture& picture) {
  ApplyToEachColor(picture, [](const std::array<uint32_t, 256>& counts) {
    int low = 0, high = 255;
    while (low < 255 && counts[static_cast<size_t>(low)] == 0) ++low;
    while (high > 0 && counts[static_cast<size_t>(high)] == 0) --high;
    Table table = Identity();
    if (high <= low) return table;
    for (int i = 0; i < 256; ++i) {
      const int value = std::clamp((i - low) * 255 / (high - low), 0, 255);
      table[static_cast<size_t>(i)] = static_cast<uint8_t>(value);
    }
    return table;
  });
}

void Equalize(Picture& picture) {
  ApplyToEachColor(picture, [](const std::array<uint32_t, 256>& counts) {
    uint64_t total = 0, last = 0;
    for (const uint32_t count : counts) {
      total += count;
      if (count != 0) last = count;
    }
    const uint64_t step = (total - last) / 255;
    Table table = Identity();
    if (step == 0) return table;
    uint64_t sum = step / 2;
    for (size_t i = 0; i < table.size(); ++i) {
      table[i] = static_cast<uint8_t>(std::min<uint64_t>(sum / step, 255));
      sum += counts[i];
    }
    return table;
  });
}

}  // namespace interlude
