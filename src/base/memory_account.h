// Who owns the big memory: where it lies is registered under its owner's name, so that the account
// of a process's resident memory (resident_memory.h) has names in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace interlude {

/// Where named memory comes from.
enum class MemoryPlace {
  kOwnPages,  // a mapping of its own
  kHeap,      // malloc gave it, so that the heap's figures contain it
};

/// A name for memory that something else owns: registered as long as this object lives, which must
/// end before the memory does. Ranges do not overlap. Any thread. Move only.
class NamedMemory {
 public:
  NamedMemory() = default;
  NamedMemory(std::string owner, const void* data, size_t bytes, MemoryPlace place);
  ~NamedMemory() { Release(); }
  NamedMemory(NamedMemory&& other) noexcept : id_(other.id_) { other.id_ = 0; }
  NamedMemory& operator=(NamedMemory&& other) noexcept;

 private:
  void Release();
  uint64_t id_ = 0;  // 0: none
};

/// One registered range.
struct NamedRange {
  uint64_t id = 0;  // never used again
  uintptr_t begin = 0;
  uintptr_t end = 0;
  std::string owner;
  MemoryPlace place = MemoryPlace::kOwnPages;
};

/// All that are registered now, by address.
std::vector<NamedRange> NamedRanges();

/// A zero-filled, 64-byte aligned, fixed-size array of floats or bytes, counted under its owner.
/// Large ones ask for transparent huge pages and return to the kernel when destroyed. Move only.
class Buffer {
 public:
  Buffer() = default;
  /// Aborts when the memory cannot be had; sizes from the network or a file are bounded before
  /// this.
  Buffer(std::string owner, size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  static Buffer Floats(std::string owner, size_t count) {
    return Buffer(std::move(owner), count * sizeof(float));
  }

  std::span<std::byte> bytes() { return {data_, size_}; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::span<float> floats() { return {reinterpret_cast<float*>(data_), size_ / sizeof(float)}; }
  std::span<const float> floats() const {
    return {reinterpret_cast<const float*>(data_), size_ / sizeof(float)};
  }
  size_t size() const { return size_; }

 private:
  void Release();
  void* mapping_ = nullptr;
  std::byte* data_ = nullptr;  // a little after the mapping's beginning
  size_t size_ = 0;
  size_t mapped_ = 0;
  NamedMemory name_;
};

}  // namespace interlude
