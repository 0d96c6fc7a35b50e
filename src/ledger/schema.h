// The tables and views of run.db as SQL text. docs/run-database.md explains each column; a test
// compares the two.
#pragma once

namespace interlude::internal {

/// "ilud": marks an SQLite file as a run database (PRAGMA application_id).
inline constexpr int kRunDatabaseApplicationId = 0x696C7564;

/// CREATE statements of version kRunDatabaseVersion, in order.
extern const char kRunDatabaseSchema[];

}  // namespace interlude::internal
