#include "base/memory_account.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/mutex.h"

namespace interlude {
namespace {

struct Accounts {
  Mutex mutex;
  std::map<std::string, MemoryUse> by_owner INTERLUDE_GUARDED_BY(mutex);
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

void AccountMemory(const std::string& owner, int64_t bytes) {
  Accounts& accounts = GlobalAccounts();
  MutexLock lock(accounts.mutex);
  MemoryUse& use = accounts.by_owner[owner];
  use.owner = owner;
  use.bytes += bytes;
  use.peak_bytes = std::max(use.peak_bytes, use.bytes);
}

std::vector<MemoryUse> MemoryUses() {
  Accounts& accounts = GlobalAccounts();
  MutexLock lock(accounts.mutex);
  std::vector<MemoryUse> uses;
  for (const auto& [owner, use] : accounts.by_owner) uses.push_back(use);
  return uses;
}

Buffer::Buffer(std::string owner, size_t bytes) : owner_(std::move(owner)), size_(bytes) {
  if (bytes == 0) return;
  const size_t colour = bytes >= kHugePage ? NextColour() : 0;
  mapped_ = (bytes + colour + 4095) / 4096 * 4096;
  void* data = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  INTERLUDE_CHECK(data != MAP_FAILED, "no memory for {} bytes of {}", bytes, owner_);
  if (mapped_ >= kHugePage)
    ::madvise(data, mapped_, MADV_HUGEPAGE);  // advice: failure costs speed only
  mapping_ = data;
  data_ = static_cast<std::byte*>(data) + colour;
  AccountMemory(owner_, static_cast<int64_t>(mapped_));
}

void Buffer::Release() {
  if (mapping_ == nullptr) return;
  ::munmap(mapping_, mapped_);
  AccountMemory(owner_, -static_cast<int64_t>(mapped_));
  mapping_ = nullptr;
  data_ = nullptr;
  size_ = 0;
  mapped_ = 0;
}

Buffer::~Buffer() { Release(); }

Buffer::Buffer(Buffer&& other) noexcept
    : owner_(std::move(other.owner_)),
      mapping_(std::exchange(other.mapping_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    Release();
    owner_ = std::move(other.owner_);
    mapping_ = std::exchange(other.mapping_, nullptr);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    mapped_ = std::exchange(other.mapped_, 0);
  }
  return *this;
}

}  // namespace interlude
