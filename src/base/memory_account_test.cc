#include "base/memory_account.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace interlude {
namespace {

constexpr int64_t kPage = 4096;

int64_t BytesOf(const std::string& owner) {
  int64_t bytes = 0;
  for (const NamedRange& range : NamedRanges()) {
    if (range.owner == owner) bytes += static_cast<int64_t>(range.end - range.begin);
  }
  return bytes;
}

NamedMemory Name(const std::string& owner, uintptr_t begin, size_t bytes) {
  return {owner, reinterpret_cast<const void*>(begin), bytes, MemoryPlace::kHeap};
}

TEST(MemoryAccount, KnowsWhatIsHeldUnderEachName) {
  NamedMemory first = Name("account", 1000, 100);
  {
    const NamedMemory second = Name("account", 2000, 50);
    EXPECT_EQ(BytesOf("account"), 150);
  }
  EXPECT_EQ(BytesOf("account"), 100);
  first = Name("account", 3000, 10);
  EXPECT_EQ(BytesOf("account"), 10);
  const NamedMemory moved = std::move(first);
  EXPECT_EQ(BytesOf("account"), 10);
  const NamedMemory nothing = Name("account", 4000, 0);
  EXPECT_EQ(BytesOf("account"), 10);
}

TEST(MemoryAccount, RangesAreListedByAddress) {
  const NamedMemory high = Name("a first", 9000, 1);
  const NamedMemory low = Name("z last", 8000, 1);
  const std::vector<NamedRange> ranges = NamedRanges();
  EXPECT_TRUE(std::ranges::is_sorted(ranges, {}, &NamedRange::begin));
  const auto found = std::ranges::find(ranges, "z last", &NamedRange::owner);
  ASSERT_NE(found, ranges.end());
  EXPECT_EQ(found->begin, 8000u);
  EXPECT_EQ(found->end, 8001u);
  EXPECT_EQ(found->place, MemoryPlace::kHeap);
}

TEST(MemoryAccount, ThreadsLoseNoRanges) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 1000; ++i) const NamedMemory memory = Name("threads", 5000, 3);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(BytesOf("threads"), 0);
}

TEST(Buffer, IsZeroAlignedAndCountedWhileItLives) {
  {
    Buffer buffer("buffer", 10'000);
    EXPECT_EQ(buffer.size(), 10'000u);
    EXPECT_EQ(buffer.bytes().size(), 10'000u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.bytes().data()) % 64, 0u);
    EXPECT_TRUE(std::ranges::all_of(buffer.bytes(), [](std::byte b) { return b == std::byte{0}; }));
    EXPECT_EQ(BytesOf("buffer"), 3 * kPage);
  }
  EXPECT_EQ(BytesOf("buffer"), 0);
}

TEST(Buffer, FloatsViewTheWholeMemory) {
  Buffer buffer = Buffer::Floats("floats", 1'000'000);  // large: huge pages are asked for
  ASSERT_EQ(buffer.floats().size(), 1'000'000u);
  buffer.floats().front() = 1.0f;
  buffer.floats().back() = 2.0f;
  EXPECT_EQ(buffer.bytes()[3], std::byte{0x3f});
  EXPECT_EQ(std::as_const(buffer).floats().back(), 2.0f);
}

TEST(Buffer, MovingHandsTheMemoryOverAndCountsItOnce) {
  Buffer first("moved", 100);
  first.bytes()[7] = std::byte{42};
  const std::byte* place = first.bytes().data();
  Buffer second(std::move(first));
  EXPECT_EQ(second.bytes().data(), place);
  EXPECT_EQ(BytesOf("moved"), kPage);

  Buffer third("replaced", 100);
  third = std::move(second);
  EXPECT_EQ(third.bytes()[7], std::byte{42});
  EXPECT_EQ(BytesOf("replaced"), 0);
  EXPECT_EQ(BytesOf("moved"), kPage);
  third = Buffer();
  EXPECT_EQ(BytesOf("moved"), 0);
}

TEST(Buffer, AnEmptyOneHoldsNothing) {
  const Buffer none;
  const Buffer empty("empty", 0);
  EXPECT_TRUE(none.bytes().empty() && empty.bytes().empty());
  EXPECT_EQ(BytesOf("empty"), 0);
}

}  // namespace
}  // namespace interlude
