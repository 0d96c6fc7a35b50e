#include "base/cpu_throttling.h"

#include "base/cgroups.h"
#include "base/proc_text.h"

namespace interlude {

std::map<std::string, CpuThrottling> ReadCpuThrottling(const std::string& root) {
  std::map<std::string, CpuThrottling> throttling;
  for (const Cgroup& group : FindCgroups("cpu", root)) {
    const auto text = ReadProcText(group.directory + "/cpu.stat");
    if (!text) continue;
    const auto ns = group.v2 ? Times(NumberAfter(*text, "throttled_usec "), 1000)
                             : NumberAfter(*text, "throttled_time ");
    const auto periods = NumberAfter(*text, "nr_throttled ");
    if (ns && periods) throttling[group.directory] = {*ns, *periods};
  }
  return throttling;
}

}  // namespace interlude
