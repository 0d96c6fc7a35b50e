// Which machine it was.
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>

#include "base/cpu_model.h"
#include "base/cpu_quota.h"
#include "bench/machine_speed.h"

namespace interlude {
MachineDescription DescribeMachine() {
  const std::string model = CpuModel();
  const CpuLimits limits = ReadCpuLimits();
  MachineDescription machine{.cpu_model = model.empty() ? "unknown CPU" : model,
                             .usable_cores = limits.UsableCores(),
                             .visible_cores = limits.visible_cores};
  machine.memory_bytes =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  utsname name = {};
  if (uname(&name) == 0) machine.kernel = fmt::format("{} {}", name.sysname, name.release);
  double load = 0;
  if (getloadavg(&load, 1) == 1) machine.load_average = load;
  return machine;
}

std::string MachineDescription::ToString() const {
  return fmt::format("{}, {} usable cores of {}, {:.1f} GiB, {}", cpu_model, usable_cores,
                     visible_cores, memory_bytes / 0x1p30, kernel);
}

}  // namespace interlude
