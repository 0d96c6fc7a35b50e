// The reader of run databases. Refused or read, with nothing in between: SQLite itself, and the
// checks of each value that a damaged or foreign file may hold.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/check.h"
#include "ledger/run_database.h"

namespace interlude {
namespace {

/// In memory; gone with the object, with what SQLite puts beside its file.
class Directory {
 public:
  Directory() : path_("/dev/shm/interlude-fuzz-XXXXXX") {
    INTERLUDE_CHECK(::mkdtemp(path_.data()) != nullptr, "no directory {}", path_);
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  std::string File(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

void ReadFile(const std::string& path) {
  const auto opened = RunDatabase::OpenReadOnly(path);
  if (!opened.ok()) return;
  const RunDatabase& database = **opened;
  // Each by itself: a table that is damaged keeps none of the others from being read.
  (void)database.Meta();
  (void)database.GetMeta(kMetaTitle);
  (void)database.Workers();
  (void)database.Rounds();
  (void)database.WorkerRounds();
  (void)database.Spans();
  (void)database.Stamps();
  (void)database.Samples();
  (void)database.Memory();
  (void)database.Probes();
  (void)database.Clocks();
  (void)database.Evaluations();
  (void)database.Events();
}

}  // namespace
}  // namespace interlude

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const interlude::Directory directory;
  const std::string path = directory.File("run.db");
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  interlude::ReadFile(path);
  return 0;
}
