#include "worker/synthetic_load.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "base/rng.h"
#include "base/thread_times.h"

namespace interlude {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;
constexpr size_t kPage = 4096;

Status FileError(const char* what, const std::string& path) {
  return UnavailableError("{} for a synthetic load at {}: {}", what, path, std::strerror(errno));
}

/// Until the calling thread has spent so much more CPU time.
void Burn(double cpu_ms) {
  const int64_t until = ReadThreadTimes().cpu_ns + static_cast<int64_t>(cpu_ms * 1e6);
  uint64_t value = 1;
  while (ReadThreadTimes().cpu_ns < until) {
    for (int i = 0; i < 2000; ++i) value = Mix64(value);
  }
  std::atomic<uint64_t> kept{value};  // or the loop would not be needed
  kept.load();
}

struct FreeDelete {
  void operator()(void* memory) const { std::free(memory); }
};

}  // namespace

SyntheticLoad::SyntheticLoad(const ModelConfig& model, int threads)
    : cpu_ms_(model.synthetic_cpu_ms),
      read_bytes_(model.synthetic_read_mb * kMegabyte),
      mapped_bytes_(model.synthetic_map_mb * kMegabyte),
      threads_(std::max(1, threads)) {}

StatusOr<std::unique_ptr<SyntheticLoad>> SyntheticLoad::Create(const ModelConfig& model,
                                                               int threads) {
  std::unique_ptr<SyntheticLoad> load(new SyntheticLoad(model, threads));
  const size_t bytes = std::max(load->read_bytes_, load->mapped_bytes_);
  if (bytes > 0) INTERLUDE_RETURN_IF_ERROR(load->MakeFile(bytes));
  return load;
}

SyntheticLoad::~SyntheticLoad() {
  if (mapped_ != nullptr) munmap(const_cast<std::byte*>(mapped_), mapped_bytes_);
  if (direct_ >= 0) close(direct_);
}

Status SyntheticLoad::MakeFile(size_t bytes) {
  std::error_code error;
  const std::string path =
      std::filesystem::temp_directory_path(error) / "interlude-synthetic-XXXXXX";
  std::string name = path;
  const int file = mkstemp(name.data());
  if (file < 0) return FileError("no file", path);
  // Not zeros: a file system may keep those without a disk.
  std::string block(kMegabyte, '\0');
  for (size_t i = 0; i < block.size(); ++i) block[i] = static_cast<char>(Mix64(i));
  bool written = true;
  for (; file_bytes_ < bytes && written; file_bytes_ += kMegabyte)
    written = write(file, block.data(), block.size()) == static_cast<ssize_t>(block.size());
  written = written && fdatasync(file) == 0;
  if (written && read_bytes_ > 0) direct_ = open(name.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  void* const mapped = written && mapped_bytes_ > 0
                           ? mmap(nullptr, mapped_bytes_, PROT_READ, MAP_SHARED, file, 0)
                           : nullptr;
  const Status status = !written ? FileError("no room", name)
                        : read_bytes_ > 0 && direct_ < 0
                            ? FileError("no reading past the page cache", name)
                        : mapped == MAP_FAILED ? FileError("no mapping", name)
                                               : OkStatus();
  if (mapped != MAP_FAILED) mapped_ = static_cast<const std::byte*>(mapped);
  unlink(name.c_str());
  close(file);
  return status;
}

Status SyntheticLoad::ReadDisk() {
  const std::unique_ptr<void, FreeDelete> block(std::aligned_alloc(kPage, kMegabyte));
  for (size_t done = 0; done < read_bytes_; done += kMegabyte) {
    if (pread(direct_, block.get(), kMegabyte, static_cast<off_t>(read_at_)) < 0)
      return UnavailableError("the synthetic load's file cannot be read: {}", std::strerror(errno));
    read_at_ = (read_at_ + kMegabyte) % file_bytes_;
  }
  return OkStatus();
}

void SyntheticLoad::TouchPages() const {
  std::byte sum{0};
  for (size_t at = 0; at < mapped_bytes_; at += kPage)
    sum ^= *static_cast<const volatile std::byte*>(mapped_ + at);
}

SyntheticLoad::Team::Team(SyntheticLoad& load) : load_(load) {
  for (int i = 1; i < load.threads_ && load.cpu_ms_ > 0; ++i)
    helpers_.emplace_back([this] { Help(); });
}

SyntheticLoad::Team::~Team() {
  over_ = true;
  for (std::thread& helper : helpers_) helper.join();
}

void SyntheticLoad::Team::Help() {
  for (unsigned step = 1;; ++step) {
    while (steps_ < step) {
      if (over_) return;
    }
    Burn(load_.cpu_ms_ / load_.threads_);
    ++done_;
  }
}

Status SyntheticLoad::Team::Step() {
  const unsigned step = ++steps_;
  if (load_.cpu_ms_ > 0) Burn(load_.cpu_ms_ / static_cast<double>(helpers_.size() + 1));
  while (done_ < step * helpers_.size()) {
  }
  if (load_.mapped_ != nullptr) load_.TouchPages();
  return load_.read_bytes_ > 0 ? load_.ReadDisk() : OkStatus();
}

}  // namespace interlude
