#include "base/memory_account.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/heap.h"
#include "base/mutex.h"

namespace interlude {
namespace {

struct Accounts {
  Mutex mutex;
  uint64_t newest_id INTERLUDE_GUARDED_BY(mutex) = 0;
  std::map<uint64_t, NamedRange> ranges INTERLUDE_GUARDED_BY(mutex);
};

Accounts& GlobalAccounts() {
  static Accounts* const accounts = new Accounts;  // never destroyed: buffers may outlive statics
  return *accounts;
}

constexpr size_t kHugePage = size_t{2} << 20;

/// Arrays that are streamed side by side and begin at the same place of a page and of a cache's
/// ways push each other out: models of 2^n parameters would be half as fast as others. So each
/// large buffer begins a few lines further into its memory than the one before.
size_t NextColour() {
  constexpr size_t kColours = 16;
  constexpr size_t kStep = 4096 + 5 * 64;
  static std::atomic<size_t> next{0};
  return next.fetch_add(1, std::memory_order_relaxed) % kColours * kStep;
}

}  // namespace

NamedMemory::NamedMemory(std::string owner, const void* data, size_t bytes, MemoryPlace place) {
  if (bytes == 0) return;
  const auto begin = reinterpret_cast<uintptr_t>(data);
  Accounts& accounts = GlobalAccounts();
  MutexLock lock(accounts.mutex);
  id_ = ++accounts.newest_id;
  accounts.ranges[id_] = {id_, begin, begin + bytes, std::move(owner), place};
}

void NamedMemory::Release() {
  if (id_ == 0) return;
  Accounts& accounts = GlobalAccounts();
  MutexLock lock(accounts.mutex);
  accounts.ranges.erase(std::exchange(id_, 0));
}

NamedMemory& NamedMemory::operator=(NamedMemory&& other) noexcept {
  if (this != &other) {
    Release();
    id_ = std::exchange(other.id_, 0);
  }
  return *this;
}

std::vector<NamedRange> NamedRanges() {
  std::vector<NamedRange> ranges;
  {
    Accounts& accounts = GlobalAccounts();
    MutexLock lock(accounts.mutex);
    for (const auto& [id, range] : accounts.ranges) ranges.push_back(range);
  }
  std::ranges::sort(ranges, {}, &NamedRange::begin);
  return ranges;
}

Buffer::Buffer(std::string owner, size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  const size_t colour = bytes >= kHugePage ? NextColour() : 0;
  mapped_ = (bytes + colour + 4095) / 4096 * 4096;
  void* data = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  INTERLUDE_CHECK(data != MAP_FAILED, "no memory for {} bytes of {}", bytes, owner);
  if (mapped_ >= kHugePage) PreferHugePages(data, mapped_);
  mapping_ = data;
  data_ = static_cast<std::byte*>(data) + colour;
  name_ = NamedMemory(std::move(owner), mapping_, mapped_, MemoryPlace::kOwnPages);
}

void Buffer::Release() {
  if (mapping_ == nullptr) return;
  name_ = NamedMemory();  // before another may get the same addresses
  ::munmap(mapping_, mapped_);
  mapping_ = nullptr;
  data_ = nullptr;
  size_ = 0;
  mapped_ = 0;
}

Buffer::~Buffer() { Release(); }

Buffer::Buffer(Buffer&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, 0)),
      name_(std::move(other.name_)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    Release();
    mapping_ = std::exchange(other.mapping_, nullptr);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    mapped_ = std::exchange(other.mapped_, 0);
    name_ = std::move(other.name_);
  }
  return *this;
}

}  // namespace interlude
