#include "base/memory_account.h"

#include <sys/mman.h>

#include <algorithm>
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
  mapped_ = (bytes + 4095) / 4096 * 4096;
  void* data = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  INTERLUDE_CHECK(data != MAP_FAILED, "no memory for {} bytes of {}", bytes, owner_);
  if (mapped_ >= kHugePage)
    ::madvise(data, mapped_, MADV_HUGEPAGE);  // advice: failure costs speed only
  data_ = static_cast<std::byte*>(data);
  AccountMemory(owner_, static_cast<int64_t>(mapped_));
}

void Buffer::Release() {
  if (data_ == nullptr) return;
  ::munmap(data_, mapped_);
  AccountMemory(owner_, -static_cast<int64_t>(mapped_));
  data_ = nullptr;
  size_ = 0;
  mapped_ = 0;
}

Buffer::~Buffer() { Release(); }

Buffer::Buffer(Buffer&& other) noexcept
    : owner_(std::move(other.owner_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    Release();
    owner_ = std::move(other.owner_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    mapped_ = std::exchange(other.mapped_, 0);
  }
  return *this;
}

}  // namespace interlude
