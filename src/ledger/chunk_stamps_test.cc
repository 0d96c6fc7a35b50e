#include "ledger/chunk_stamps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <tuple>

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
  std::sort(stamps.begin(), stamps.end(), [](const ChunkStamp& a, const ChunkStamp& b) {
    return std::tie(a.end_ns, a.begin_ns, a.chunk) < std::tie(b.end_ns, b.begin_ns, b.chunk);
  });
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

TEST(ChunkStamps, ArePutInOrderOfTheirEnds) {
  const auto back = DecodeStamps(EncodeStamps({{1, 0, 9'000}, {0, 0, 8'000}, {2, 8'000, 9'000}}));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, (std::vector<ChunkStamp>{{0, 0, 8'000}, {1, 0, 9'000}, {2, 8'000, 9'000}}));
}

TEST(ChunkStamps, OfARoundInOrderTakeFourOrFiveBytesEach) {
  const auto bytes_each = [](int64_t apart_ns, int64_t length_ns) {
    std::vector<ChunkStamp> stamps;
    for (uint32_t c = 0; c < 300; ++c) {
      const int64_t begin = int64_t{3'600'000'000'000} + c * apart_ns;
      stamps.push_back({c, begin, begin + length_ns});
    }
    return EncodeStamps(stamps).size() / 300;
  };
  EXPECT_EQ(bytes_each(1'900'000, 1'700'000), 4u);
  EXPECT_EQ(bytes_each(1'900'000, 7'700'000), 4u);    // four at a time
  EXPECT_EQ(bytes_each(45'000'000, 44'800'000), 5u);  // one at a time on a slow link
}

TEST(ChunkStamps, OfFourThreadsThatTakeTheNextChunkEachTakeFourBytesEach) {
  Rng rng(5);
  std::array<int64_t, 4> free_ns{};
  std::vector<ChunkStamp> stamps;
  for (uint32_t chunk = 0; chunk < 300; ++chunk) {
    int64_t& now = *std::min_element(free_ns.begin(), free_ns.end());
    const int64_t begin = now;
    now += static_cast<int64_t>(2'000 + rng.Below(6'000)) * 1000;
    stamps.push_back({chunk, begin, now});
  }
  EXPECT_LE(EncodeStamps(stamps).size(), 300u * 4 + 20);
}

TEST(ChunkStamps, OfVersion3AreReadInItsOrder) {
  // Three chunks of which the first two overlap and one is left out, as version 3 wrote them.
  const std::string bytes = "\xA0\x1F\xD0\x0F\xD1\x0F\xDC\x0B\x92\x03\xF8\x0A\x02";
  const auto stamps = DecodeStamps(bytes, StampsOrder::kByEnd);
  ASSERT_TRUE(stamps.ok()) << stamps.status().ToString();
  EXPECT_EQ(*stamps,
            (std::vector<ChunkStamp>{
                {0, 1'000'000, 3'000'000}, {1, 2'000'000, 3'500'000}, {3, 3'600'000, 5'000'000}}));
  for (size_t length = 0; length < bytes.size(); ++length) {
    const auto cut = DecodeStamps(bytes.substr(0, length), StampsOrder::kByEnd);
    if (!cut.ok()) continue;
    EXPECT_LT(cut->size(), stamps->size());
  }
}

TEST(ChunkStamps, OfTheFirstAndLastChunkAndTheLastMomentComeBack) {
  constexpr int64_t kLast = INT64_MAX / 1000 * 1000;
  const std::vector<ChunkStamp> stamps = {
      {0, 0, 0}, {1, 0, 0}, {0, 0, kLast}, {UINT32_MAX, 0, kLast}, {UINT32_MAX, kLast, kLast}};
  const auto back = DecodeStamps(EncodeStamps(stamps));
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(*back, stamps);
}

TEST(ChunkStamps, NoChunkFollowsTheLast) {
  const std::string last = EncodeStamps({{UINT32_MAX, 0, 0}});
  EXPECT_TRUE(DecodeStamps(last).ok());
  EXPECT_EQ(DecodeStamps(last + std::string(2, '\0')).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(ChunkStamps, EveryTruncationIsAnErrorOrThoseThatBeganFirst) {
  Rng rng(2);
  const std::vector<ChunkStamp> stamps = RandomStamps(rng, 20);
  const std::string bytes = EncodeStamps(stamps);
  for (size_t length = 0; length < bytes.size(); ++length) {
    const auto back = DecodeStamps(std::string_view(bytes).substr(0, length));
    if (!back.ok()) continue;
    ASSERT_LT(back->size(), stamps.size());
    for (const ChunkStamp& stamp : *back)
      EXPECT_EQ(std::count(stamps.begin(), stamps.end(), stamp), 1);
  }
}

TEST(ChunkStamps, AnyBytesGiveStampsThatEncodeToThemOrAnError) {
  Rng rng(3);
  size_t decoded = 0;
  for (int i = 0; i < 40'000; ++i) {
    std::string bytes(rng() % 40, '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng() % 3 == 0 ? 0xFF : rng());
    const auto stamps = DecodeStamps(bytes);
    if (!stamps.ok()) continue;
    ++decoded;
    EXPECT_EQ(EncodeStamps(*stamps), bytes);
    for (const ChunkStamp& stamp : *stamps) {
      EXPECT_GE(stamp.begin_ns, 0);
      EXPECT_GE(stamp.end_ns, stamp.begin_ns);
    }
  }
  EXPECT_GT(decoded, 100u);
}

}  // namespace
}  // namespace interlude
