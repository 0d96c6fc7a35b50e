#include "doctor/doctor.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "doctor/disk_checks.h"
#include "doctor/memory_checks.h"
#include "doctor/network_checks.h"
#include "doctor/speed.h"
#include "doctor/system_checks.h"
#include "worker/link_measurement.h"

namespace interlude {
namespace {

constexpr std::chrono::milliseconds kCodecWithin{900};
constexpr std::chrono::milliseconds kDiskWithin{600};
constexpr size_t kMostDiskBytes = size_t{128} << 20;
/// Larger than caches, or as much as a machine with little memory has to spare.
constexpr size_t kCodecParams = size_t{32} << 20;
constexpr size_t kFewCodecParams = size_t{2} << 20;
/// Must be free for each value that is measured: many times the 9 bytes that are taken.
constexpr uint64_t kFreeBytesAValue = 80;

std::optional<CodecSpeed> MeasureWithin(const MemoryReading& memory, int threads) {
  const uint64_t free_bytes = std::min(memory.available_bytes.value_or(UINT64_MAX),
                                       memory.cgroup_left_bytes.value_or(UINT64_MAX));
  for (const size_t params : {kCodecParams, kFewCodecParams}) {
    if (params * kFreeBytesAValue <= free_bytes) return MeasureCodec(threads, params, kCodecWithin);
  }
  return std::nullopt;
}

Checks ExamineLink(const DoctorOptions& options, const TcpReading& tcp,
                   const std::optional<CodecSeconds>& codec) {
  if (!options.coordinator) return CheckTcp(tcp, std::nullopt);
  const auto link = MeasureLink(*options.coordinator, LinkPlan{}, SystemClock());
  Checks checks = CheckTcp(tcp, link.ok() ? std::optional(*link) : std::nullopt);
  Append(checks, CheckLink(link, options.job, codec));
  return checks;
}

}  // namespace

Checks Examine(const DoctorOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const CpuReading cpu = ReadCpu(options.root, options.environment);
  const auto blas = options.ask_blas();

  const MemoryReading memory = ReadMemory(options.root);
  const auto speed = MeasureWithin(memory, cpu.limits.UsableCores());
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  Checks checks = CheckCpu(cpu, ReadCpuThrottling(options.root), elapsed.count());
  checks.push_back(CheckBlas(blas.ok() ? std::optional(*blas) : std::nullopt,
                             blas.ok() ? "" : blas.status().message()));
  Append(checks, CheckMemory(memory, options.job, speed));

  const DiskReading disk = ReadDisk(options.root, options.directory);
  Append(checks,
         CheckDisk(disk, options.job, MeasureDisk(disk.directory, kMostDiskBytes, kDiskWithin)));
  Append(checks, CheckSystem(ReadSystem(options.root)));

  std::optional<CodecSeconds> codec;
  if (speed && options.job.params > 0) codec = CodecTime(*speed, options.job.params);
  Append(checks, ExamineLink(options, ReadTcp(options.root), codec));
  return checks;
}

}  // namespace interlude
