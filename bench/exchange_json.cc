// The figures of an exchange as JSON.
#include <nlohmann/json.hpp>

#include "bench/exchange_figures.h"

namespace interlude {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <typename T>
Json ByWorker(const std::map<int32_t, T>& values) {
  Json object = Json::object();
  for (const auto& [worker, value] : values) object[std::to_string(worker)] = value;
  return object;
}

std::string ProcessName(int32_t worker) {
  return worker == kNoWorker ? "coordinator" : "worker " + std::to_string(worker);
}

Json FromRound(const ExchangeRound& round) {
  Json phases = Json::array();
  for (const ProcessPhase& phase : round.phases) {
    phases.push_back({{"phase", PhaseName(phase.phase)},
                      {"process", ProcessName(phase.recorded_by)},
                      {"about_worker",
                       phase.about_worker == kNoWorker ? Json(nullptr) : Json(phase.about_worker)},
                      {"inside_seconds", phase.inside_seconds},
                      {"busy_seconds", phase.busy_seconds},
                      {"cpu_seconds", phase.cpu_seconds},
                      {"run_delay_seconds", phase.run_delay_seconds},
                      {"bytes", phase.bytes}});
  }
  return {{"round", round.round},
          {"wall_seconds", round.wall_seconds},
          {"exchange_seconds", OrNull(round.longest_exchange())},
          {"exchange_seconds_by_worker", ByWorker(round.exchange_seconds)},
          {"merge_to_sync_seconds", OrNull(round.merge_to_sync_seconds)},
          {"upload_bytes", ByWorker(round.upload_bytes)},
          {"download_bytes", ByWorker(round.download_bytes)},
          {"repaired_chunks", round.repaired_chunks},
          {"phases", phases}};
}

Json FromMemory(const ProcessSamples& process, const ExchangeSummary& summary) {
  Json at_round_ends = Json::array();
  for (const ExchangeRound& round : summary.rounds) {
    at_round_ends.push_back(process.AnonymousAt(round.end_ns));
  }
  return {{"process", process.name},
          {"peak_anonymous_bytes", process.peak_anonymous},
          {"peak_resident_bytes", process.peak_resident},
          {"anonymous_bytes_at_round_ends", at_round_ends},
          {"samples", process.samples.size()}};
}

Json FromMode(const ExchangeFigures& figures, const ModeFigures& mode) {
  Json rounds = Json::array();
  for (const ExchangeRound& round : mode.summary.rounds) rounds.push_back(FromRound(round));
  Json memory = Json::array();
  for (const ProcessSamples& process : mode.memory) {
    memory.push_back(FromMemory(process, mode.summary));
  }
  const auto exchange = ExchangeSeconds(mode);
  const auto of_bound = exchange ? std::optional(*exchange / figures.bound_seconds()) : exchange;
  return {{"mode", mode.mode},
          {"exchange_seconds", OrNull(exchange)},
          {"exchange_of_bound", OrNull(of_bound)},
          {"hashes_agree", mode.summary.hashes_agree},
          {"final_root_hash", mode.summary.final_root},
          {"coordinator_anonymous_bytes_before_run", OrNull(mode.coordinator_before)},
          {"coordinator_anonymous_bytes_after_run", OrNull(mode.coordinator_after)},
          {"memory", memory},
          {"rounds", rounds}};
}

Json FromMachine(const ExchangeFigures& figures) {
  const MachineDescription& machine = figures.machine;
  return {{"cpu_model", machine.cpu_model},
          {"usable_cores", machine.usable_cores},
          {"visible_cores", machine.visible_cores},
          {"memory_bytes", machine.memory_bytes},
          {"kernel", machine.kernel},
          {"load_average", machine.load_average},
          {"memcpy_bytes_per_second",
           {{"before", figures.memory_before.copy}, {"after", figures.memory_after.copy}}},
          {"read_bytes_per_second",
           {{"before", figures.memory_before.read}, {"after", figures.memory_after.read}}},
          {"tcp_loopback_bytes_per_second", figures.tcp_loopback},
          {"disk_write_bytes_per_second", figures.disk_write}};
}

}  // namespace

std::string FormatExchangeJson(const ExchangeFigures& figures) {
  Json stages = Json::array();
  for (const TouchedBytes& stage : ExchangeBytes(figures.config, figures.workers)) {
    stages.push_back({{"stage", stage.stage},
                      {"counted", stage.count},
                      {"read_bytes", stage.read},
                      {"written_bytes", stage.written}});
  }
  Json modes = Json::array();
  for (const ModeFigures& mode : figures.modes) modes.push_back(FromMode(figures, mode));
  Json bars = Json::array();
  for (const Bar& bar : ExchangeBars(figures)) {
    bars.push_back({{"what", bar.what},
                    {"value", bar.value},
                    {"unit", bar.unit},
                    {bar.at_most ? "at_most" : "at_least", bar.limit},
                    {"met", bar.met()}});
  }
  const Json all = {{"format", "interlude-bench-exchange"},
                    {"version", 1},
                    {"params", figures.config.model.synthetic_params},
                    {"model_bytes", figures.model_bytes()},
                    {"workers", figures.workers},
                    {"chunk_params", figures.config.round.chunk_params},
                    {"config", FormatRunConfig(figures.config)},
                    {"machine", FromMachine(figures)},
                    {"touched", stages},
                    {"bound_seconds", figures.bound_seconds()},
                    {"modes", modes},
                    {"bars", bars}};
  return all.dump(2) + "\n";
}

}  // namespace interlude
