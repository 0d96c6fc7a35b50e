#include "report/trace_counters.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace interlude {
namespace {

constexpr std::string_view kNs = "_ns";
constexpr std::string_view kBytes = "_bytes";

/// Figures that stand at a value; all others count up.
bool IsLevel(std::string_view name) {
  constexpr std::array<std::string_view, 5> kLevels = {"threads", "rss_bytes", "anonymous_bytes",
                                                       "peak_rss_bytes", "tcp_round_trip_ns"};
  return std::find(kLevels.begin(), kLevels.end(), name) != kLevels.end();
}

}  // namespace

SampleCounter CounterOf(const SampleField& field) {
  const bool level = IsLevel(field.name);
  if (field.name.ends_with(kNs)) {
    return {std::string(field.name.substr(0, field.name.size() - kNs.size())),
            level ? "ns" : "s/s"};
  }
  if (field.name.ends_with(kBytes)) {
    return {std::string(field.name.substr(0, field.name.size() - kBytes.size())),
            level ? "bytes" : "bytes/s"};
  }
  return {std::string(field.name), level ? "" : "/s"};
}

std::optional<CounterValue> ValueOf(const SampleField& field, const ProcessSample& sample) {
  const int64_t value = sample.*field.value;
  if (value == kUnknownFigure) return std::nullopt;
  if (IsLevel(field.name)) return CounterValue{sample.at_ns, static_cast<double>(value)};
  if (sample.interval_ns <= 0) return std::nullopt;
  const double per_ns = static_cast<double>(value) / static_cast<double>(sample.interval_ns);
  const double rate = field.name.ends_with(kNs) ? per_ns : per_ns * 1e9;
  return CounterValue{sample.at_ns - sample.interval_ns, rate};
}

}  // namespace interlude
