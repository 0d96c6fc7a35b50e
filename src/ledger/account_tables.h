// The tables of run.db that accounts are kept in: spans, chunk_stamps, sample_rows, memory,
// clock_probes. Internal to ledger/. Column order is that of ledger/schema.cc.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>

#include "base/status.h"
#include "ledger/account.h"

namespace interlude::internal {

/// How many of a sample's figure one of its column in sample_rows stands for.
int64_t UnitOf(const SampleField& field);
/// Times of samples are kept in microseconds.
inline constexpr int64_t kSampleTimeUnit = 1000;

/// InvalidArgument for what InsertAccount could not store such that it is read back.
Status CheckAccount(const Account& account);
/// Within the caller's transaction. Throws SQLite::Exception.
void InsertAccount(SQLite::Database& database, const Account& account);

}  // namespace interlude::internal
