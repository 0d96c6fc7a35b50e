#include "report/table.h"

#include <gtest/gtest.h>

namespace interlude {
namespace {

TEST(Table, ColumnsAreAsWideAsTheirWidestCell) {
  Table table({"name", "ms"}, 1);
  table.Add({"a", "10.5"});
  table.Add({"longer"});
  table.AddNote("note");
  EXPECT_EQ(table.ToString(),
            "  name      ms\n"
            "  a       10.5\n"
            "  longer\n"
            "  note\n");
}

TEST(Wrap, BreaksAtSpacesAndIndentsWhatFollows) {
  EXPECT_EQ(Wrap("aaa bbb ccc", 7, 2), "aaa bbb\n  ccc\n");
  EXPECT_EQ(Wrap("aaa bbb", 6), "aaa\nbbb\n");
  EXPECT_EQ(Wrap("longerthanwidth b", 5), "longerthanwidth\nb\n");
  EXPECT_EQ(Wrap("", 5), "\n");
  EXPECT_EQ(Wrap("a  ", 5), "a\n");
}

TEST(Printable, LetsNoControlCharacterThrough) {
  EXPECT_EQ(Printable("a\x1b[2J\n\xc3\xa9~"), "a?[2J???~");
}

}  // namespace
}  // namespace interlude
