// Who owns the big memory: every buffer of a megabyte or more is counted under its owner's name, so
// that the account of a process's resident memory has names in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace interlude {

/// Bytes held and the most ever held under one name.
struct MemoryUse {
  std::string owner;
  int64_t bytes = 0;
  int64_t peak_bytes = 0;
};

/// Adds (or with negative `bytes` removes) memory held under `owner`. Any thread.
void AccountMemory(const std::string& owner, int64_t bytes);

/// All owners, by name.
std::vector<MemoryUse> MemoryUses();

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
  std::string owner_;
  void* mapping_ = nullptr;
  std::byte* data_ = nullptr;  // a little after the mapping's beginning
  size_t size_ = 0;
  size_t mapped_ = 0;
};

}  // namespace interlude
