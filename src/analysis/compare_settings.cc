// What two runs were told, and what they ran on.
#include <algorithm>
#include <set>
#include <string_view>

#include "analysis/compare_runs.h"
#include "analysis/config_lines.h"

namespace interlude {
namespace {

using Settings = std::map<std::string, std::string>;

/// Other in every run, or said elsewhere in the comparison.
const std::set<std::string_view> kNotCompared = {kMetaTitle, kMetaStartedAt, kMetaConfig,
                                                 "run_id",   "final_root",   "workers"};

/// With configurations codec and exchange are among their keys.
Settings SettingsOf(const RunSummary& run, bool configurations) {
  Settings settings;
  if (configurations) settings = ConfigLines(run.meta.at(kMetaConfig));
  for (const auto& [key, value] : run.meta) {
    const bool repeated = configurations && (key == kMetaCodec || key == kMetaExchange);
    if (!kNotCompared.contains(key) && !repeated) settings[key] = value;
  }
  for (const WorkerSummary& worker : run.workers) {
    const WorkerRecord& record = worker.record;
    const std::string name = fmt::format("worker {} ", record.worker);
    settings[name + "host"] = record.host;
    settings[name + "cores"] = fmt::format("{}/{}", record.usable_cores, record.visible_cores);
    settings[name + "quota"] =
        record.quota_cores > 0 ? fmt::format("{:.2f} CPUs", record.quota_cores) : "none";
    settings[name + "threads"] = fmt::format("{}", record.threads);
    settings[name + "software"] = record.software;
  }
  return settings;
}

std::optional<std::string> ValueOf(const Settings& settings, const std::string& key) {
  const auto found = settings.find(key);
  return found == settings.end() ? std::nullopt : std::optional(found->second);
}

/// What a worker of only one run is told by the number of workers.
bool IsWorkers(const std::string& key) { return key.starts_with("worker "); }

}  // namespace

std::vector<SettingChange> internal::CompareSettings(const RunSummary& a, const RunSummary& b) {
  const bool configurations = a.meta.contains(kMetaConfig) && b.meta.contains(kMetaConfig);
  const Settings of_a = SettingsOf(a, configurations), of_b = SettingsOf(b, configurations);
  std::set<std::string> keys;
  for (const auto& [key, value] : of_a) keys.insert(key);
  for (const auto& [key, value] : of_b) keys.insert(key);
  std::vector<SettingChange> changes;
  for (const std::string& key : keys) {
    SettingChange change{key, ValueOf(of_a, key), ValueOf(of_b, key)};
    if (change.a == change.b || (IsWorkers(key) && (!change.a || !change.b))) continue;
    changes.push_back(std::move(change));
  }
  std::stable_partition(changes.begin(), changes.end(),
                        [](const SettingChange& change) { return !IsWorkers(change.key); });
  return changes;
}

}  // namespace interlude
