#include "base/cpu_model.h"

#include "base/proc_text.h"

namespace interlude {

std::string CpuModel(const std::string& root) {
  const auto text = ReadProcText(root + "/proc/cpuinfo");
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  while (!rest.empty()) {
    const std::string_view line = TakeLine(rest);
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string_view::npos)
      return std::string(line.substr(colon + 2));
  }
  return "";
}

}  // namespace interlude
