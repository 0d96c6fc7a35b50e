#include "coordinator/identity.h"

#include <charconv>
#include <string_view>

namespace interlude {
namespace {

constexpr std::string_view kPrefix = "worker-";

/// Nothing unless the name is exactly what WorkerId K is written as: no sign, no leading zero.
std::optional<WorkerId> IdIn(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  WorkerId id = -1;
  const char* end = name.data() + name.size();
  const auto [stopped, error] = std::from_chars(name.data() + kPrefix.size(), end, id);
  if (error != std::errc() || stopped != end || name != fmt::format("{}{}", kPrefix, id))
    return std::nullopt;
  return id >= 0 ? std::optional(id) : std::nullopt;
}

}  // namespace

Status BindToCertificate(const std::string& certified_name, JoinMessage& join) {
  const std::optional<WorkerId> certified = IdIn(certified_name);
  if (!certified) {
    return PermissionDeniedError(
        "the certificate is for \"{}\", and only those for worker-0, worker-1 ... may join: give "
        "the worker its own worker-K.crt and worker-K.key",
        certified_name);
  }
  if (join.requested_worker.value_or(*certified) != *certified) {
    return PermissionDeniedError(
        "worker id {} was asked for with the certificate of {}: ask for id {} or for none, or give "
        "the worker its own certificate",
        *join.requested_worker, certified_name, *certified);
  }
  join.requested_worker = certified;
  return OkStatus();
}

}  // namespace interlude
