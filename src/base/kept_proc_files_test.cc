#include "base/kept_proc_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/fake_root.h"
#include "base/proc_text.h"

namespace interlude {
namespace {

ptrdiff_t OpenFiles() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

/// As it reads in a use of its own.
std::optional<std::string> Read(KeptProcFiles& files, const std::string& path) {
  const KeptProcFiles::Use use(files);
  return ReadProcText(path);
}

TEST(KeptProcFiles, ReadWhatIsThereNowAndStayOpen) {
  FakeRoot root;
  const std::string path = root.path() + "/proc/self/io";
  root.File("/proc/self/io", "before, and longer\n");
  const ptrdiff_t open = OpenFiles();
  {
    KeptProcFiles files;
    EXPECT_EQ(Read(files, path), "before, and longer\n");
    root.File("/proc/self/io", "after\n");
    EXPECT_EQ(Read(files, path), "after\n");
    EXPECT_EQ(OpenFiles(), open + 1);
    EXPECT_EQ(KeptProcFiles::InUse(), nullptr);
  }
  EXPECT_EQ(OpenFiles(), open);
}

TEST(KeptProcFiles, ThoseThatAreNotReadAgainAreClosed) {
  FakeRoot root;
  root.File("/a", "1");
  root.File("/b", "2");
  const ptrdiff_t open = OpenFiles();
  KeptProcFiles files;
  Read(files, root.path() + "/a");
  Read(files, root.path() + "/b");
  EXPECT_EQ(OpenFiles(), open + 1);
}

TEST(KeptProcFiles, AnAbsentFileIsLookedForAgainOnlyNowAndThen) {
  FakeRoot root;
  KeptProcFiles files;
  const std::string path = root.path() + "/late";
  EXPECT_EQ(Read(files, path), std::nullopt);
  root.File("/late", "here");
  int uses = 1;
  while (!Read(files, path)) ASSERT_LT(++uses, 100);
  EXPECT_GT(uses, 1);
  EXPECT_EQ(ReadProcText(path), "here") << "without a use, at once";
}

}  // namespace
}  // namespace interlude
