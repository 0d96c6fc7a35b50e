// Who a worker is, as far as its certificate says. Any thread.
#pragma once

#include <string>

#include "base/status.h"
#include "wire/messages.h"

namespace interlude {

/// Binds a worker to its certificate: "worker-3" may join as worker 3 and as no other, and is given
/// that id when it asks for none. PermissionDenied when it asks for another id, or the name is no
/// worker's.
Status BindToCertificate(const std::string& certified_name, JoinMessage& join);

}  // namespace interlude
