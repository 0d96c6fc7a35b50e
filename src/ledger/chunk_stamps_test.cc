#include "ledger/chunk_stamps.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace interlude {
namespace {

std::vector<ChunkStamp> RandomStamps(Rng& rng, size_t count) {
  std::vector<ChunkStamp> stamps;
  int64_t begin = static_cast<int64_t>(rng() >> 14) * 1000;
  for (size_t i = 0; i < count; ++i) {
    begin += (static_cast<int64_t>(rng() % 2'000'000) - 500'000) * 1000;
    if (begin < 0) begin = 0;
    const auto chunk = static_cast<uint32_t>(rng() % 4 == 0 ? rng() : i);
    stamps.push_back({chunk, begin, begin + static_cast<int64_t>(rng() % 100'000) * 1000});
  }
  return stamps;
}

TEST(ChunkStamps, ComeBackAsTheyWere) {
  Rng rng(1);
  for (size_t count = 0; count < 200; ++count) {
    const std::vector<ChunkStamp> stamps = RandomStamps(rng, count);
    const auto back = DecodeStamps(EncodeStamps(stamps));
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(*back, stamps);
  }
}

TEST(ChunkStamps, AreKeptInWholeMicroseconds) {
  const auto back = DecodeStamps(EncodeStamps({{7, 1'999, 5'001}}));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, (std::vector<ChunkStamp>{{7, 1'000, 5'000}}));
}

TEST(ChunkStamps, OfARoundInOrderTakeAboutFiveBytesEach) {
  std::vector<ChunkStamp> stamps;
  for (uint32_t c = 0; c < 300; ++c) {
    const int64_t begin = int64_t{3'600'000'000'000} + c * int64_t{1'900'000};
    stamps.push_back({c, begin, begin + 1'700'000});
  }
  EXPECT_LT(EncodeStamps(stamps).size(), 300 * 6u);
}

TEST(ChunkStamps, EveryTruncationIsAnErrorOrAShorterPrefix) {
  Rng rng(2);
  const std::vector<ChunkStamp> stamps = RandomStamps(rng, 20);
  const std::string bytes = EncodeStamps(stamps);
  for (size_t length = 0; length < bytes.size(); ++length) {
    const auto back = DecodeStamps(std::string_view(bytes).substr(0, length));
    if (!back.ok()) continue;
    ASSERT_LT(back->size(), stamps.size());
    EXPECT_TRUE(std::equal(back->begin(), back->end(), stamps.begin()));
  }
}

TEST(ChunkStamps, AnyBytesGiveStampsInRangeOrAnError) {
  Rng rng(3);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(rng() % 40, '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng() % 3 == 0 ? 0xFF : rng());
    const auto stamps = DecodeStamps(bytes);
    if (!stamps.ok()) continue;
    for (const ChunkStamp& stamp : *stamps) {
      EXPECT_GE(stamp.begin_ns, 0);
      EXPECT_GE(stamp.end_ns, stamp.begin_ns);
    }
  }
}

}  // namespace
}  // namespace interlude
