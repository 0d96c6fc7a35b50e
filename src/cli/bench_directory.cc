#include "cli/bench_directory.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/free_memory.h"
#include "base/human_text.h"
#include "bench/exchange_bytes.h"

namespace interlude {
namespace {

std::string Gigabytes(uint64_t bytes) { return HumanBytes(static_cast<double>(bytes)); }

/// A count of parameters that needs `available` of `needed` bytes, less a tenth.
std::string FittingParams(const RunConfig& config, uint64_t needed, uint64_t available) {
  const double share = 0.9 * static_cast<double>(available) / static_cast<double>(needed);
  const double millions = static_cast<double>(config.model.synthetic_params) * share / 1e6;
  return millions >= 2 ? fmt::format("{:.0f}M", millions) : "1M";
}

}  // namespace

StatusOr<BenchDirectory> BenchDirectory::Create(const std::string& path, bool keep) {
  std::error_code error;
  if (path.empty()) {
    std::string pattern =
        (std::filesystem::temp_directory_path(error) / "interlude-bench-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      return ErrnoError(errno, "cannot make a temporary directory " + pattern);
    return BenchDirectory(pattern, true, keep);
  }
  const bool made = std::filesystem::create_directories(path, error);
  if (error) return ErrnoError(error.value(), "cannot make the directory " + path);
  return BenchDirectory(path, made, keep);
}

BenchDirectory::BenchDirectory(std::string path, bool made, bool keep)
    : path_(std::move(path)), made_(made), keep_(keep) {}

BenchDirectory::BenchDirectory(BenchDirectory&& other) noexcept
    : path_(std::move(other.path_)), made_(std::exchange(other.made_, false)), keep_(other.keep_) {}

BenchDirectory::~BenchDirectory() {
  std::error_code error;
  if (made_ && !keep_) std::filesystem::remove_all(path_, error);
}

StatusOr<std::string> BenchDirectory::MakeRun(const std::string& name) const {
  const std::string run = path_ + "/" + name;
  std::error_code error;
  const bool made = std::filesystem::create_directory(run, error);
  if (error) return ErrnoError(error.value(), "cannot make the directory " + run);
  if (!made) return AlreadyExistsError("{} is there already: choose another --dir", run);
  return run;
}

void BenchDirectory::RemoveRun(const std::string& name) const {
  std::error_code error;
  std::filesystem::remove_all(path_ + "/" + name, error);
}

Status CheckMemory(const std::vector<RunConfig>& runs, uint32_t workers) {
  const uint64_t available = AvailableMemoryBytes().value_or(UINT64_MAX);
  for (const RunConfig& run : runs) {
    const ExchangeNeeds needs = NeedsOf(run, workers);
    const uint64_t all = needs.coordinator_memory + workers * needs.worker_memory;
    if (all <= available) continue;
    return InvalidArgumentError(
        "{} parameters and {} workers need {} of memory (the coordinator {}, each worker {}), {} "
        "are available: give fewer --workers or a smaller model, such as --params {}",
        run.model.synthetic_params, workers, Gigabytes(all), Gigabytes(needs.coordinator_memory),
        Gigabytes(needs.worker_memory), Gigabytes(available), FittingParams(run, all, available));
  }
  return OkStatus();
}

Status CheckDisk(const std::string& directory, const std::vector<RunConfig>& runs, uint32_t workers,
                 bool keep) {
  uint64_t needed = 0;
  for (const RunConfig& run : runs) {
    const uint64_t disk = NeedsOf(run, workers).disk;
    needed = keep ? needed + disk : std::max(needed, disk);
  }
  std::error_code error;
  const auto space = std::filesystem::space(directory, error);
  if (error || needed <= space.available) return OkStatus();
  return InvalidArgumentError(
      "{} parameters and {} workers need {} of disk in {}, {} are free: give another --dir or a "
      "smaller model, such as --params {}",
      runs.front().model.synthetic_params, workers, Gigabytes(needed), directory,
      Gigabytes(space.available), FittingParams(runs.front(), needed, space.available));
}

}  // namespace interlude
