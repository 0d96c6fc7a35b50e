#include "base/cpu_quota.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "base/cgroups.h"

namespace interlude {
namespace {

std::optional<std::string> ReadFirstLine(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  return line;
}

std::optional<double> ParsePositive(const std::string& text) {
  std::istringstream in(text);
  double value = 0;
  if (!(in >> value) || value <= 0) return std::nullopt;
  return value;
}

/// v2: "cpu.max" holds "QUOTA PERIOD" or "max PERIOD".
std::optional<double> QuotaV2(const std::string& directory) {
  const auto line = ReadFirstLine(directory + "/cpu.max");
  if (!line) return std::nullopt;
  std::istringstream in(*line);
  std::string quota;
  double period = 0;
  if (!(in >> quota >> period) || quota == "max" || period <= 0) return std::nullopt;
  const auto value = ParsePositive(quota);
  if (!value) return std::nullopt;
  return *value / period;
}

/// v1: two files; a quota of -1 means none.
std::optional<double> QuotaV1(const std::string& directory) {
  const auto quota_line = ReadFirstLine(directory + "/cpu.cfs_quota_us");
  const auto period_line = ReadFirstLine(directory + "/cpu.cfs_period_us");
  if (!quota_line || !period_line) return std::nullopt;
  const auto quota = ParsePositive(*quota_line);
  const auto period = ParsePositive(*period_line);
  if (!quota || !period) return std::nullopt;
  return *quota / *period;
}

void Consider(const Cgroup& group, CpuLimits& limits) {
  const auto quota = group.v2 ? QuotaV2(group.directory) : QuotaV1(group.directory);
  if (!quota || (limits.quota_cores && *quota >= *limits.quota_cores)) return;
  limits.quota_cores = quota;
  limits.quota_source = group.directory + (group.v2 ? "/cpu.max" : "/cpu.cfs_quota_us");
}

int AffinityCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return 0;
  return CPU_COUNT(&set);
}

}  // namespace

int CpuLimits::UsableCores() const {
  // In double until the end: a quota file may hold more than an int can.
  double cores = affinity_cores;
  if (quota_cores) cores = std::min(cores, std::ceil(*quota_cores - 1e-9));
  return std::max(1, static_cast<int>(cores));
}

std::string CpuLimits::ToString() const {
  const int usable = UsableCores();
  const std::string quota = quota_cores
                                ? fmt::format("quota {:.2f} by {}", *quota_cores, quota_source)
                                : std::string("no quota");
  return fmt::format("{} usable core{} ({} visible, {} in the affinity mask, {})", usable,
                     usable == 1 ? "" : "s", visible_cores, affinity_cores, quota);
}

CpuLimits ReadCpuLimits(const std::string& root) {
  CpuLimits limits;
  limits.visible_cores = std::max<int>(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
  const int affinity = AffinityCores();
  limits.affinity_cores = affinity > 0 ? affinity : limits.visible_cores;
  for (const Cgroup& group : FindCgroups("cpu", root)) Consider(group, limits);
  return limits;
}

}  // namespace interlude
