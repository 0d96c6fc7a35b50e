#include "ledger/clock_method.h"

namespace interlude {

std::string_view ClockMethodName(ClockMethod method) {
  switch (method) {
    case ClockMethod::kNone:
      return "none";
    case ClockMethod::kMinimum:
      return "minimum";
    case ClockMethod::kEnvelope:
      return "envelope";
  }
  return "unknown";
}

std::optional<ClockMethod> ClockMethodFromName(std::string_view name) {
  for (const ClockMethod method :
       {ClockMethod::kNone, ClockMethod::kMinimum, ClockMethod::kEnvelope}) {
    if (ClockMethodName(method) == name) return method;
  }
  return std::nullopt;
}

}  // namespace interlude
