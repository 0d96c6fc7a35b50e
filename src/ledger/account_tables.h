// The tables of run.db that accounts are kept in: spans, chunk_stamps, process_samples, memory,
// clock_probes. Internal to ledger/. Column order is that of ledger/schema.cc.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include "base/status.h"
#include "ledger/account.h"

namespace interlude::internal {

/// InvalidArgument for what InsertAccount could not store such that it is read back.
Status CheckAccount(const Account& account);
/// Within the caller's transaction. Throws SQLite::Exception.
void InsertAccount(SQLite::Database& database, const Account& account);

}  // namespace interlude::internal
