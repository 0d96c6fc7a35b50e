#include "base/resident_memory.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <thread>

#include "base/heap.h"
#include "base/queue.h"

namespace interlude {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

/// Sanitizers keep their shadows in the address space and have a malloc of their own.
bool HasPlainMemory() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return ExplainResidentMemory().has_value();
#endif
}

#define NEEDS_PLAIN_MEMORY() \
  if (!HasPlainMemory()) GTEST_SKIP() << "no page table to read, or a sanitizer's memory"

int64_t Of(const ResidentMemory& memory, const std::string& owner) {
  const auto it = memory.owners.find(owner);
  return it == memory.owners.end() ? 0 : it->second;
}

/// Reads a byte of each page of 4 KiB, and says how much anonymous memory the process has got by
/// it: none where the kernel maps its page of zeros, which is nobody's.
int64_t GrowthByReading(const volatile unsigned char* data, size_t bytes) {
  const auto before = ReadProcessMemory(::getpid());
  int sum = 0;
  for (size_t i = 0; i < bytes; i += 4096) sum += data[i];
  EXPECT_EQ(sum, 0);
  return static_cast<int64_t>(ReadProcessMemory(::getpid())->anonymous - before->anonymous);
}

/// The bar of the account.
void ExpectExplained(const ResidentMemory& memory) {
  int64_t named = 0;
  for (const auto& [owner, bytes] : memory.owners) {
    EXPECT_GE(bytes, 0) << owner;
    if (owner != kUnnamedMemory) named += bytes;
  }
  const int64_t bar = std::max<int64_t>(4 * kMiB, memory.resident_bytes * 3 / 100);
  EXPECT_LE(std::abs(memory.resident_bytes - named), bar) << FormatHeldMemory(memory);
}

/// A file of `bytes` that is mapped for reading and writing.
class MappedFile {
 public:
  explicit MappedFile(size_t bytes) : bytes_(bytes) {
    char path[] = "/tmp/mapped-XXXXXX";
    const int file = ::mkstemp(path);
    ::unlink(path);
    EXPECT_EQ(::ftruncate(file, static_cast<off_t>(bytes)), 0);
    data_ = static_cast<char*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    ::close(file);
    EXPECT_NE(data_, MAP_FAILED);
  }
  ~MappedFile() { ::munmap(data_, bytes_); }
  char* data() { return data_; }

 private:
  const size_t bytes_;
  char* data_ = nullptr;
};

TEST(ResidentMemory, ABufferCountsOnceItIsWrittenTo) {
  NEEDS_PLAIN_MEMORY();
  ResidentMemoryReader reader;
  Buffer buffer("a buffer", 64 * kMiB);
  EXPECT_EQ(Of(*reader.Read(), "a buffer"), 0);
  const int64_t by_reading =
      GrowthByReading(reinterpret_cast<const unsigned char*>(buffer.bytes().data()), buffer.size());
  EXPECT_NEAR(Of(*reader.Read(), "a buffer"), by_reading, kMiB);
  std::memset(buffer.bytes().data(), 1, 16 * kMiB);
  const int64_t part = Of(*reader.Read(), "a buffer");
  EXPECT_GE(part, 16 * kMiB);
  EXPECT_LE(part, by_reading + 20 * kMiB) << "whole huge pages at both ends";
  std::memset(buffer.bytes().data(), 1, buffer.size());
  EXPECT_GE(Of(*reader.Read(), "a buffer"), 64 * kMiB);
  const auto full = reader.Read();
  EXPECT_GE(Of(*full, "a buffer"), 64 * kMiB) << "remembered";
  ExpectExplained(*full);
  buffer = Buffer();
  const auto none = reader.Read();
  EXPECT_EQ(Of(*none, "a buffer"), 0);
  ExpectExplained(*none);
}

TEST(ResidentMemory, TheSumExplainsAProcessWithAllKindsOfMemory) {
  NEEDS_PLAIN_MEMORY();
  ResidentMemoryReader reader;
  const auto before = reader.Read();
  ExpectExplained(*before);

  Buffer buffer("all kinds", 48 * kMiB);
  std::memset(buffer.bytes().data(), 1, buffer.size());
  std::vector<std::vector<char>> small(400, std::vector<char>(100'000, 'x'));  // 40 MB of heap
  std::vector<char> large(size_t{80} << 20, 'x');  // a mapping of malloc's
  std::vector<char> named(size_t{24} << 20, 'x');
  const NamedMemory name("named heap", named.data(), named.size(), MemoryPlace::kHeap);
  MappedFile journal(size_t{32} << 20);
  const NamedMemory journal_name("a journal", journal.data(), size_t{32} << 20,
                                 MemoryPlace::kOwnPages);
  std::memset(journal.data(), 1, 8 * kMiB);
  MappedFile other(size_t{16} << 20);
  std::memset(other.data(), 1, size_t{16} << 20);

  const auto after = reader.Read();
  ExpectExplained(*after);
  ExpectExplained(*ExplainResidentMemory());
  EXPECT_GE(Of(*after, "all kinds"), 48 * kMiB);
  EXPECT_NEAR(Of(*after, "named heap"), 24 * kMiB, 8192);
  EXPECT_EQ(Of(*after, "a journal"), 8 * kMiB);
  EXPECT_NEAR(Of(*after, kFileMemory) - Of(*before, kFileMemory), 16 * kMiB, kMiB / 4);
  EXPECT_NEAR(Of(*after, kHeapInUse) - Of(*before, kHeapInUse), 120 * kMiB, 3 * kMiB);
  EXPECT_LE(Of(*after, kUnnamedMemory), Of(*before, kUnnamedMemory) + kMiB);
}

TEST(ResidentMemory, WhatWasFreedAndKeptIsTheAllocators) {
  NEEDS_PLAIN_MEMORY();
  KeepFreedMemory();
  ReturnFreedMemory();
  ResidentMemoryReader reader;
  const auto before = reader.Read();
  auto blocks =
      std::make_unique<std::vector<std::vector<char>>>(300, std::vector<char>(100'000, 'x'));
  const std::vector<char> above(1000, 'x');  // what lies above is in use, so that nothing returns
  blocks.reset();
  const auto after = reader.Read();
  ExpectExplained(*after);
  EXPECT_GE(Of(*after, kHeapKeptFree) - Of(*before, kHeapKeptFree), 25 * kMiB)
      << FormatHeldMemory(*after);
}

TEST(ResidentMemory, ABlockOfTheHeapThatWasOnlyReadCountsAsTheKernelCountsIt) {
  NEEDS_PLAIN_MEMORY();
  constexpr size_t kBytes = size_t{64} << 20;
  auto* const block = static_cast<volatile unsigned char*>(::calloc(kBytes, 1));
  const auto before = ExplainResidentMemory();
  const int64_t by_reading = GrowthByReading(block, kBytes);
  const auto after = ExplainResidentMemory();
  ExpectExplained(*after);
  const auto heap = [](const ResidentMemory& memory) {
    return Of(memory, kHeapInUse) + Of(memory, kHeapKeptFree);
  };
  EXPECT_NEAR(heap(*after) - heap(*before), by_reading, kMiB);
  ::free(const_cast<unsigned char*>(block));
}

TEST(ResidentMemory, AThreadsHeapThatGrowsWhereItIsIsTheAllocators) {
  NEEDS_PLAIN_MEMORY();
  ResidentMemoryReader reader;
  Queue<int> turn(1);
  Queue<int> begun(1);
  std::vector<std::vector<char>> blocks;
  std::thread thread([&] {
    blocks.emplace_back(1000, 'x');  // the thread has a heap now
    begun.Push(1);
    turn.Pop();
    for (int i = 0; i < 300; ++i) blocks.emplace_back(100'000, 'x');
  });
  begun.Pop();
  const auto before = reader.Read();
  turn.Push(1);
  thread.join();
  const auto after = reader.Read();
  ExpectExplained(*after);
  EXPECT_GE(Of(*after, kHeapInUse) - Of(*before, kHeapInUse), 25 * kMiB)
      << FormatHeldMemory(*after);
}

TEST(ResidentMemory, AThreadsStackIsAStack) {
  NEEDS_PLAIN_MEMORY();
  ResidentMemoryReader reader;
  const auto before = reader.Read();
  Queue<int> touched(1);
  Queue<int> done(1);
  std::thread thread([&] {
    volatile char stack[4 << 20];
    for (size_t i = 0; i < sizeof(stack); i += 4096) stack[i] = 1;
    touched.Push(1);
    done.Pop();
  });
  touched.Pop();
  const auto during = reader.Read();
  done.Push(1);
  thread.join();
  EXPECT_GE(Of(*during, kStackMemory) - Of(*before, kStackMemory), 4 * kMiB);
  ExpectExplained(*during);
}

TEST(ResidentMemory, OneLineNamesTheLargestFirst) {
  const ResidentMemory memory{.resident_bytes = 30 * kMiB,
                              .owners = {{"a", 10 * kMiB}, {"b", 20 * kMiB}, {"c", 100}}};
  EXPECT_EQ(FormatHeldMemory(memory), "held after the run: 30.0 MiB resident: b 20.0, a 10.0");
}

}  // namespace
}  // namespace interlude
