// What a std::ostream needs to write into an AtomicFile, for writers that know nothing of store/.
// One thread.
#pragma once

#include <array>
#include <streambuf>

#include "base/status.h"
#include "store/atomic_file.h"

namespace interlude {

/// A stream over it goes bad when a write fails; Commit then says why.
class AtomicBuffer : public std::streambuf {
 public:
  explicit AtomicBuffer(AtomicFile file);

  /// Writes what is left and gives the file its name, or returns the first error: then there is no
  /// file, or the one that was there before. Call once.
  Status Commit();

 private:
  int_type overflow(int_type next) override;
  int sync() override;

  AtomicFile file_;
  Status status_;
  std::array<char, 1 << 16> bytes_;
};

}  // namespace interlude
