// The records in a round's file: seals, members, merges, commit. Each has a tail with its round, a
// mark and a check that also covers its place, so that one that is torn, of an earlier round or in
// the wrong place counts as never written. Pure functions on the file's bytes as they lie in
// memory; threads as store/journal.h says.
//
// `file` is a whole file of places.file_bytes() bytes; slots and chunks exist; the round is the
// file's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "store/journal.h"
#include "store/journal_format.h"

namespace interlude {

std::optional<Hash128> ReadJournalSeal(std::span<const std::byte> file, const JournalPlaces& places,
                                       uint32_t round, uint32_t slot, uint32_t chunk);
/// The newer one of the two copies.
std::optional<JournalMember> ReadJournalMember(std::span<const std::byte> file,
                                               const JournalPlaces& places, uint32_t round,
                                               uint32_t slot);
JournalChunk ReadJournalChunk(std::span<const std::byte> file, const JournalPlaces& places,
                              uint32_t round, uint32_t chunk);
std::optional<JournalCommit> ReadJournalCommit(std::span<const std::byte> file,
                                               const JournalPlaces& places, uint32_t round);
/// All of them but the seals.
JournalRound ReadJournalRound(std::span<const std::byte> file, const JournalPlaces& places,
                              uint32_t round);

void WriteJournalSeal(std::span<std::byte> file, const JournalPlaces& places, uint32_t round,
                      uint32_t slot, uint32_t chunk, const Hash128& payload_hash);
/// Over the older copy: at any moment one of them is whole.
void WriteJournalMember(std::span<std::byte> file, const JournalPlaces& places, uint32_t round,
                        uint32_t slot, const JournalMember& member);
/// Precondition: each of `slots` exists.
void WriteJournalMerge(std::span<std::byte> file, const JournalPlaces& places, uint32_t round,
                       uint32_t chunk, std::span<const uint32_t> slots);
void WriteJournalMerged(std::span<std::byte> file, const JournalPlaces& places, uint32_t round,
                        uint32_t chunk, const Hash128& base_hash);
void WriteJournalCommit(std::span<std::byte> file, const JournalPlaces& places, uint32_t round,
                        const JournalCommit& commit);

}  // namespace interlude
