#include "doctor/disk_checks.h"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <filesystem>

#include "base/human_text.h"
#include "base/proc_text.h"

namespace interlude {
namespace {

/// A round's payloads should reach the disk in this time, or the kernel holds the writers up once
/// its cache of written pages is full.
constexpr double kSlowSeconds = 10;
constexpr double kVerySlowSeconds = 60;

std::filesystem::path NearestThere(std::filesystem::path path) {
  std::error_code ignored;
  path = std::filesystem::absolute(path, ignored).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // "runs/." is "runs/" by now
  while (!std::filesystem::exists(path, ignored) && path.has_relative_path())
    path = path.parent_path();
  return path;
}

Check CheckSpace(const DiskReading& reading, const Job& job) {
  Check check{.name = "disk space", .grade = CheckGrade::kUnknown};
  check.figure = fmt::format("{} free for {}", HumanBytes(static_cast<double>(reading.free_bytes)),
                             reading.directory);
  check.values = {{"free_bytes", static_cast<double>(reading.free_bytes)}};
  if (job.params == 0) {
    check.advice =
        "give --params N (and --workers N) to have it compared with what a coordinator "
        "needs";
  } else {
    const uint64_t need = CoordinatorDiskBytes(job.params, job.workers);
    check.figure += fmt::format(
        "; a coordinator of {} parameters and {} needs {} for journal, sync deltas, snapshots and "
        "the final model",
        HumanCount(static_cast<double>(job.params)), Count(job.workers, "worker"),
        HumanBytes(static_cast<double>(need)));
    check.values.emplace_back("need_bytes", static_cast<double>(need));
    check.grade = reading.free_bytes < need ? CheckGrade::kBad : CheckGrade::kOk;
    if (check.grade == CheckGrade::kBad)
      check.advice =
          "a coordinator would refuse to start here: another --dir, or a smaller "
          "round.snapshot_every; a worker needs none of it";
  }
  if (reading.in_memory) {
    check.figure += "; it is a tmpfs";
    check.grade = std::max(check.grade, CheckGrade::kWarn);
    check.advice += fmt::format("{}what is written here takes memory and is gone after a restart",
                                check.advice.empty() ? "" : ". And ");
  }
  return check;
}

Check CheckWriting(const DiskReading& reading, const Job& job,
                   const StatusOr<double>& write_bytes_per_s) {
  Check check{.name = "disk speed"};
  if (!write_bytes_per_s.ok()) {
    check.figure = write_bytes_per_s.status().message();
    check.advice = "give a --dir in which this user may write";
    return check;
  }
  check.figure = fmt::format("writes {}/s, synced", HumanBytes(*write_bytes_per_s));
  check.values = {{"write_bytes_per_s", *write_bytes_per_s}};
  if (reading.rotational)
    check.figure +=
        *reading.rotational ? "; the kernel takes it for a rotating one" : "; solid state";
  if (job.params == 0) {
    check.grade = reading.rotational.value_or(false) ? CheckGrade::kWarn : CheckGrade::kOk;
  } else {
    const double seconds = static_cast<double>(job.workers) *
                           static_cast<double>(PayloadBytes(job.params)) / *write_bytes_per_s;
    check.figure += fmt::format("; a round's payloads of {} take it {}",
                                Count(job.workers, "worker"), HumanSeconds(seconds));
    check.values.emplace_back("round_seconds", seconds);
    check.grade = seconds > kVerySlowSeconds ? CheckGrade::kBad
                  : seconds > kSlowSeconds   ? CheckGrade::kWarn
                                             : CheckGrade::kOk;
  }
  if (check.grade != CheckGrade::kOk)
    check.advice =
        "as a coordinator's: the journal is written in the background, but rounds that "
        "come faster than this wait for it; a faster disk for --dir";
  return check;
}

}  // namespace

std::optional<bool> ReadRotational(const std::string& root, unsigned device_major,
                                   unsigned device_minor) {
  const std::string device =
      fmt::format("{}/sys/dev/block/{}:{}", root, device_major, device_minor);
  for (const char* below : {"/queue/rotational", "/../queue/rotational"}) {
    const auto text = ReadProcText(device + below);
    const auto number = text ? Number(*text) : std::nullopt;
    if (number) return *number != 0;
  }
  return std::nullopt;
}

DiskReading ReadDisk(const std::string& root, const std::string& directory) {
  DiskReading reading{.directory = NearestThere(directory).string()};
  struct statfs space {};
  struct stat about {};
  if (::statfs(reading.directory.c_str(), &space) != 0 ||
      ::stat(reading.directory.c_str(), &about) != 0) {
    reading.trouble = ErrnoError(errno, "cannot look at " + reading.directory).message();
    return reading;
  }
  reading.free_bytes = static_cast<uint64_t>(space.f_bavail) * static_cast<uint64_t>(space.f_bsize);
  reading.in_memory = space.f_type == TMPFS_MAGIC;
  reading.rotational = ReadRotational(root, major(about.st_dev), minor(about.st_dev));
  return reading;
}

Checks CheckDisk(const DiskReading& reading, const Job& job,
                 const StatusOr<double>& write_bytes_per_s) {
  if (!reading.trouble.empty())
    return {{.name = "disk", .figure = reading.trouble, .advice = "give another --dir"}};
  return {CheckSpace(reading, job), CheckWriting(reading, job, write_bytes_per_s)};
}

}  // namespace interlude
