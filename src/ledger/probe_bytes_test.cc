#include "ledger/probe_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/rng.h"

namespace interlude {
namespace {

constexpr int32_t kWorker = 7;

std::vector<ClockProbe> AnyProbes(Rng& rng, size_t count) {
  const auto any = [&] { return static_cast<int64_t>(rng() >> rng.Below(64)); };
  std::vector<ClockProbe> probes;
  for (size_t i = 0; i < count; ++i) probes.push_back({kWorker, any(), any(), any(), any(), any()});
  return probes;
}

TEST(ProbeBytes, ComeBackAsTheyWere) {
  Rng rng(1);
  for (size_t count = 0; count < 200; ++count) {
    const std::vector<ClockProbe> probes = AnyProbes(rng, count);
    const auto back = DecodeProbes(kWorker, EncodeProbes(probes));
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(*back, probes);
  }
}

TEST(ProbeBytes, OfTheFirstAndTheLastMomentComeBack) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const std::vector<ClockProbe> probes = {{kWorker, kLeast, kMost, kLeast, kMost, kLeast},
                                          {kWorker, kMost, kLeast, kMost, kLeast, kMost},
                                          {kWorker, kMost, kMost, kMost, kMost, kMost},
                                          {kWorker, kLeast, kLeast, kLeast, kLeast, kLeast},
                                          {kWorker, 0, 0, 0, 0, 0}};
  const auto back = DecodeProbes(kWorker, EncodeProbes(probes));
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(*back, probes);
}

TEST(ProbeBytes, OfASecondOnALinkOfTwentyMillisecondsTakeFifteenBytes) {
  Rng rng(2);
  std::vector<ClockProbe> probes;
  for (int64_t second = 0; second < 1000; ++second) {
    const auto below = [&](uint64_t most) { return static_cast<int64_t>(rng.Below(most)); };
    const int64_t sent = (4'000'000 + second) * 1'000'000'000 + below(100'000);
    const int64_t received = sent + 77'000'000'000'000 + below(500'000);
    const int64_t replied = received + 20'000 + below(40'000);
    probes.push_back(
        {kWorker, sent, received, replied, sent + 20'000'000 + below(1'000'000), below(100'000)});
  }
  EXPECT_LE(EncodeProbes(probes).size(), 15u * probes.size());
}

TEST(ProbeBytes, EveryTruncationIsAnErrorOrAShorterPrefix) {
  Rng rng(3);
  const std::vector<ClockProbe> probes = AnyProbes(rng, 20);
  const std::string bytes = EncodeProbes(probes);
  for (size_t length = 0; length < bytes.size(); ++length) {
    const auto back = DecodeProbes(kWorker, std::string_view(bytes).substr(0, length));
    if (!back.ok()) continue;
    ASSERT_LT(back->size(), probes.size());
    EXPECT_TRUE(std::equal(back->begin(), back->end(), probes.begin()));
  }
}

TEST(ProbeBytes, AnyBytesGiveProbesThatEncodeToThemOrAnError) {
  Rng rng(4);
  size_t decoded = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(rng() % 60, '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng() % 3 == 0 ? rng() | 0x80 : rng() & 0x7F);
    const auto probes = DecodeProbes(kWorker, bytes);
    if (!probes.ok()) {
      EXPECT_EQ(probes.status().code(), StatusCode::kInvalidArgument);
      continue;
    }
    ++decoded;
    EXPECT_EQ(EncodeProbes(*probes), bytes);
  }
  EXPECT_GT(decoded, 1000u);
}

}  // namespace
}  // namespace interlude
