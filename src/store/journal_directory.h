// The journal's directory as a whole: who uses it, whether it has room, what its files are about.
// Called while a journal is made or opened, by one thread.
#pragma once

#include <string>

#include "base/status.h"
#include "store/file.h"
#include "store/journal_format.h"

namespace interlude {

/// Makes the directory where it is missing and locks it for one user alone: two coordinators in one
/// directory would overwrite each other's chunks. FailedPrecondition when it is in use.
StatusOr<FileDescriptor> ClaimJournalDirectory(const std::string& directory);

/// Locks it against a coordinator, but not against others who look, and writes nothing. Where no
/// coordinator ever was there is no lock, and no valid descriptor comes back.
StatusOr<FileDescriptor> ShareJournalDirectory(const std::string& directory);

/// ResourceExhausted when the files do not fit; asked before a single block is taken, since a disk
/// filled to the brim harms others on the machine too.
Status CheckJournalSpace(const std::string& directory, const JournalPlaces& places);

/// NotFound when the directory holds no file of a journal.
Status CheckJournalThere(const std::string& directory);

void RemoveJournalFiles(const std::string& directory);

/// The geometry by the first file that is whole enough to tell. NotFound without files, otherwise
/// the first file's error.
StatusOr<JournalPlaces> FindJournalPlaces(const std::string& directory);

/// Whether an error of opening one file means that the file holds no round, rather than that the
/// journal is another one or cannot be opened.
bool IsUnusableJournalFile(const Status& status);
void LogUnusableJournalFile(const Status& status);

}  // namespace interlude
