#include "images/picture_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "images/test_folder.h"

namespace interlude {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

PictureFiles FilesOf(const std::string& path) {
  PictureFiles list;
  AddPictureFiles(path, list);
  return list;
}

TEST(PictureFiles, AFolderStandsForThePicturesInItAndBelow) {
  const TestFolder folder;
  for (const char* name : {"b.JPG", "a/2.png", "a/1.webp", "a.jpg", "a/deep/x.tiff", "notes.txt",
                           ".hidden.jpg", ".trash/c.jpg", "a/README"}) {
    folder.Write(name, "");
  }
  const PictureFiles list = FilesOf(folder.path());
  EXPECT_THAT(list.files, ElementsAre(folder / "a.jpg", folder / "a/1.webp", folder / "a/2.png",
                                      folder / "a/deep/x.tiff", folder / "b.JPG"));
  EXPECT_THAT(list.unreadable, IsEmpty());
}

TEST(PictureFiles, AFileStandsForItselfWhateverItsNameAndWhetherOrNotItIsThere) {
  const TestFolder folder;
  PictureFiles list;
  AddPictureFiles(folder.Write("z", ""), list);
  AddPictureFiles(folder / "absent", list);
  AddPictureFiles(folder / "z", list);
  EXPECT_THAT(list.files, ElementsAre(folder / "z", folder / "absent", folder / "z"));
}

TEST(PictureFiles, AFolderWithoutPicturesIsNamed) {
  const TestFolder folder;
  folder.Write("notes.txt", "");
  EXPECT_THAT(FilesOf(folder.path()).unreadable, ElementsAre(HasSubstr("no pictures")));
  EXPECT_THAT(FilesOf(folder.path()).unreadable, ElementsAre(HasSubstr(folder.path())));
}

TEST(PictureFiles, ALinkThatLeadsInACircleIsNotFollowed) {
  const TestFolder folder;
  folder.Write("in/a.jpg", "");
  ASSERT_EQ(::symlink("..", (folder / "in/up").c_str()), 0);
  ASSERT_EQ(::symlink("a.jpg", (folder / "in/link.jpg").c_str()), 0);
  ASSERT_EQ(::symlink("in", (folder / "to").c_str()), 0);
  EXPECT_THAT(FilesOf(folder.path()).files,
              ElementsAre(folder / "in/a.jpg", folder / "in/link.jpg"));
  EXPECT_THAT(FilesOf(folder / "to").files,
              ElementsAre(folder / "to/a.jpg", folder / "to/link.jpg"))
      << "a link that is named itself";
}

TEST(SplitPaths, TakesLinesOrWhatStandsBetweenZeroBytes) {
  EXPECT_THAT(SplitPaths(""), IsEmpty());
  EXPECT_THAT(SplitPaths("\n\n"), IsEmpty());
  EXPECT_THAT(SplitPaths("a b.jpg\n\nc.jpg"), ElementsAre("a b.jpg", "c.jpg"));
  EXPECT_THAT(SplitPaths("a.jpg\n"), ElementsAre("a.jpg"));
  EXPECT_THAT(SplitPaths(std::string_view("a\nb.jpg\0c.jpg\0", 14)),
              ElementsAre("a\nb.jpg", "c.jpg"));
}

}  // namespace
}  // namespace interlude
