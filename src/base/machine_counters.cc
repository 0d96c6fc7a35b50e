#include "base/machine_counters.h"

#include <unistd.h>

#include <algorithm>

#include "base/proc_text.h"

namespace interlude {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;

int64_t NsPerTick() {
  const int64_t ticks = ::sysconf(_SC_CLK_TCK);
  return ticks > 0 ? 1'000'000'000 / ticks : 10'000'000;
}

/// "cpu USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL GUEST GUEST_NICE"; guests are in USER too.
void ReadCpu(const std::string& root, MachineCounters& counters) {
  const auto text = ReadProcText(root + "/proc/stat");
  if (!text) return;
  std::string_view rest = *text;
  const auto words = Words(TakeLine(rest));
  if (words.size() < 8 || words[0] != "cpu") return;
  int64_t ticks = 0;
  for (const size_t column : {1, 2, 3, 6, 7}) {
    const auto number = Number(words[column]);
    if (!number) return;
    ticks += *number;
  }
  counters.busy_ns = Times(ticks, NsPerTick());
  if (words.size() > 8) counters.steal_ns = Times(Number(words[8]), NsPerTick());
}

/// Partitions stand in diskstats beside their disk, but have no place of their own in /sys/block.
bool IsWholeDisk(const std::string& root, std::string name) {
  for (const char* memory : {"loop", "ram", "zram"}) {
    if (name.starts_with(memory)) return false;
  }
  std::replace(name.begin(), name.end(), '/', '!');
  return ::access((root + "/sys/block/" + name).c_str(), F_OK) == 0;
}

/// "MAJOR MINOR NAME" and then the figures, of which the tenth is milliseconds of being busy.
void ReadDisks(const std::string& root, MachineCounters& counters) {
  const auto text = ReadProcText(root + "/proc/diskstats");
  if (!text) return;
  std::map<std::string, int64_t> disks;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const auto words = Words(TakeLine(rest));
    if (words.size() < 13) continue;
    const std::string name(words[2]);
    const auto busy = Times(Number(words[12]), kNsPerMs);
    if (busy && IsWholeDisk(root, name)) disks[name] = *busy;
  }
  if (!disks.empty()) counters.disk_busy_ns = std::move(disks);
}

/// "NAME: RECEIVED_BYTES (seven more) SENT_BYTES ..."; no blank need follow the colon.
void ReadNetwork(const std::string& root, MachineCounters& counters) {
  const auto text = ReadProcText(root + "/proc/net/dev");
  if (!text) return;
  std::map<std::string, MachineCounters::Traffic> network;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::string_view line = TakeLine(rest);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const auto names = Words(line.substr(0, colon));
    const auto words = Words(line.substr(colon + 1));
    if (names.size() != 1 || names[0] == "lo" || words.size() < 9) continue;
    const auto received = Number(words[0]);
    const auto sent = Number(words[8]);
    if (received && sent) network[std::string(names[0])] = {*sent, *received};
  }
  counters.network = std::move(network);
}

}  // namespace

MachineCounters ReadMachineCounters(const std::string& root) {
  MachineCounters counters;
  ReadCpu(root, counters);
  ReadDisks(root, counters);
  ReadNetwork(root, counters);
  return counters;
}

}  // namespace interlude
