// Memory for what is needed while a round is worked through, used again for the next one. One
// thread.
#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>

namespace interlude {

/// malloc would search for the graph's large blocks anew in each round, between results that stay,
/// and take fresh pages for many of them.
class RoundMemory {
 public:
  RoundMemory() = default;
  RoundMemory(const RoundMemory&) = delete;
  RoundMemory& operator=(const RoundMemory&) = delete;

  /// What was taken from it before must be gone.
  std::pmr::memory_resource* Clear() {
    resource_.release();
    return &resource_;
  }

 private:
  /// Enough for rounds of 8 workers and 64 chunks; what others need beyond it comes from the heap.
  static constexpr size_t kBytes = 1 << 20;
  const std::unique_ptr<std::byte[]> bytes_ = std::make_unique_for_overwrite<std::byte[]>(kBytes);
  std::pmr::monotonic_buffer_resource resource_{bytes_.get(), kBytes};
};

}  // namespace interlude
