// Room for a few chunks on their way from the network into the model: what bounds how far a
// download may run ahead of applying.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/memory_account.h"
#include "base/mutex.h"

namespace interlude {

/// Any thread.
class Staging {
 public:
  /// `slots` places of `slot_bytes` bytes each.
  Staging(size_t slots, size_t slot_bytes)
      : slot_bytes_(slot_bytes), memory_("staging", slots * slot_bytes), held_(slots) {}

  /// The chunk's place: the one that it holds, else the next that becomes free. Whoever holds a
  /// place must be sure to release it without another.
  std::span<std::byte> Take(uint32_t chunk) {
    MutexLock lock(mutex_);
    for (;;) {
      std::optional<size_t> slot = Find(chunk);
      if (!slot) slot = Find(std::nullopt);
      if (slot) {
        held_[*slot] = chunk;
        return memory_.bytes().subspan(*slot * slot_bytes_, slot_bytes_);
      }
      released_.Wait(mutex_);
    }
  }

  /// Nothing for a chunk that holds none.
  void Release(uint32_t chunk) {
    MutexLock lock(mutex_);
    if (const std::optional<size_t> slot = Find(chunk)) held_[*slot].reset();
    released_.NotifyAll();
  }

  /// All places are free again: an exchange that was given up may have left chunks half received.
  void ReleaseAll() {
    MutexLock lock(mutex_);
    held_.assign(held_.size(), std::nullopt);
    released_.NotifyAll();
  }

 private:
  std::optional<size_t> Find(std::optional<uint32_t> holder) const INTERLUDE_REQUIRES(mutex_) {
    for (size_t slot = 0; slot < held_.size(); ++slot) {
      if (held_[slot] == holder) return slot;
    }
    return std::nullopt;
  }

  const size_t slot_bytes_;
  Buffer memory_;
  Mutex mutex_;
  CondVar released_;
  std::vector<std::optional<uint32_t>> held_ INTERLUDE_GUARDED_BY(mutex_);
};

}  // namespace interlude
