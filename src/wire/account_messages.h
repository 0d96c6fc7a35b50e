// Accounts on the wire. They come from workers only, so a span of one of the coordinator's phases
// is refused. Internal to wire/. Pure functions; any thread.
#pragma once

#include "base/status.h"
#include "interlude.pb.h"
#include "ledger/account.h"

namespace interlude::internal {

/// Who recorded it is not sent: the receiver knows and sets it.
void FillAccount(const Account& account, v1::Account& proto);

/// InvalidArgument, naming the entry, for more entries than convert.h allows, an unknown or
/// coordinator's phase, negative times, times beyond 36 years or 416 days long, more busy time than
/// a span is long, stamps that cannot be decoded, or a name that is too long.
StatusOr<Account> ReadAccount(const v1::Account& proto);

}  // namespace interlude::internal
