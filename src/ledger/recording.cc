#include "ledger/recording.h"

#include <cstdlib>
#include <string_view>

#include "base/log.h"

namespace interlude {

bool internal::ReadRecordingSwitch() {
  const char* const without = std::getenv("INTERLUDE_WITHOUT_ACCOUNT");
  if (without == nullptr || std::string_view(without) != "1") return true;
  LogWarning(
      "INTERLUDE_WITHOUT_ACCOUNT=1: this process keeps no account; the report will not say where "
      "the time went");
  return false;
}

}  // namespace interlude
