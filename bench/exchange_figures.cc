#include "bench/exchange_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace interlude {
namespace {

double ShareOfModel(const ExchangeFigures& figures, double bytes) {
  return bytes / figures.model_bytes();
}

double Grown(const ModeFigures& mode, const ProcessSamples& process) {
  const auto warm = mode.summary.warm();
  return static_cast<double>(process.AnonymousAt(warm.back()->end_ns)) -
         static_cast<double>(process.AnonymousAt(warm.front()->end_ns));
}

void AddMemoryBars(const ExchangeFigures& figures, const ModeFigures& mode,
                   std::vector<Bar>& bars) {
  if (mode.memory.empty()) return;
  const ProcessSamples& coordinator = mode.memory.front();
  bars.push_back({"coordinator's peak anonymous memory",
                  ShareOfModel(figures, static_cast<double>(coordinator.peak_anonymous)), 3.3, true,
                  "of the fp32 model"});
  bars.push_back({"coordinator's growth over the rounds after the first",
                  ShareOfModel(figures, Grown(mode, coordinator)), 0.02, true,
                  "of the fp32 model"});
  if (mode.coordinator_after && mode.coordinator_before) {
    bars.push_back({"coordinator's anonymous memory after the run",
                    ShareOfModel(figures, static_cast<double>(*mode.coordinator_after)), 0.1, true,
                    "of the fp32 model"});
  }
}

std::optional<double> BytesOfAWorker(const ExchangeRound& round) {
  double most = 0;
  for (const auto& [worker, up] : round.upload_bytes) {
    const auto down = round.download_bytes.find(worker);
    if (down == round.download_bytes.end()) continue;
    most = std::max(most, static_cast<double>(up) + static_cast<double>(down->second));
  }
  return most;
}

}  // namespace

double ExchangeFigures::bound_seconds() const {
  return static_cast<double>(SumOf(ExchangeBytes(config, workers))) / copy_speed();
}

const ModeFigures* ExchangeFigures::Find(const std::string& mode) const {
  const auto found = std::find_if(modes.begin(), modes.end(),
                                  [&](const ModeFigures& known) { return known.mode == mode; });
  return found == modes.end() ? nullptr : &*found;
}

std::optional<double> ExchangeSeconds(const ModeFigures& mode) {
  return mode.summary.Typical([](const ExchangeRound& round) { return round.longest_exchange(); });
}

std::string Bar::ToString() const {
  return fmt::format("{:.3g} {} (the bar: {} {:g}, {})", value, unit,
                     at_most ? "at most" : "at least", limit, met() ? "met" : "not met");
}

std::vector<Bar> ExchangeBars(const ExchangeFigures& figures) {
  std::vector<Bar> bars;
  const ModeFigures* const mode = figures.Find(kPipelinedMode);
  if (mode == nullptr) return bars;
  const auto exchange = ExchangeSeconds(*mode);
  if (!exchange) return bars;
  bars.push_back({"whole exchange", *exchange / figures.bound_seconds(), 3, true,
                  "x memcpy's time for the same bytes"});
  const ModeFigures* const saving = figures.Find(kBarrierSaveMode);
  if (const auto slow = saving == nullptr ? std::nullopt : ExchangeSeconds(*saving)) {
    bars.push_back({"barrier with a save every round", *slow / *exchange, 5, false,
                    "x the pipelined exchange"});
  }
  if (const auto sync = mode->summary.Typical(
          [](const ExchangeRound& round) { return round.merge_to_sync_seconds; })) {
    bars.push_back(
        {"first merge to first sync chunk sent", *sync / *exchange, 0.05, true, "of the exchange"});
  }
  AddMemoryBars(figures, *mode, bars);
  if (const auto bytes = mode->summary.Typical(BytesOfAWorker)) {
    bars.push_back({"bytes of a worker and round, both directions", ShareOfModel(figures, *bytes),
                    0.27, true, "of the fp32 model"});
  }
  return bars;
}

StatusOr<uint64_t> ParseCount(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  double scale = 1;
  const std::string_view suffix(parsed.ptr, static_cast<size_t>(end - parsed.ptr));
  bool known = parsed.ec == std::errc();
  if (suffix == "K" || suffix == "k") {
    scale = 1e3;
  } else if (suffix == "M") {
    scale = 1e6;
  } else if (suffix == "G") {
    scale = 1e9;
  } else {
    known = known && suffix.empty();
  }
  const double count = std::round(number * scale);
  if (!known || !(count >= 1) || count > 1e11 || std::abs(count - number * scale) > 1e-6 * scale) {
    return InvalidArgumentError("{} is no number of parameters: give one such as 86M, 1.5G or 200K",
                                text);
  }
  return static_cast<uint64_t>(count);
}

}  // namespace interlude
