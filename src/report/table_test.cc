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

TEST(Table, ACharacterIsOneColumn) {
  Table table({"name", "ms"}, 1);
  table.Add({"d\u00f6g", "1"});
  table.Add({"b\u00fcffel", "20"});
  EXPECT_EQ(table.ToString(),
            "  name    ms\n"
            "  d\u00f6g      1\n"
            "  b\u00fcffel  20\n");
  EXPECT_EQ(Wrap("\u00e9\u00e9\u00e9 b", 5), "\u00e9\u00e9\u00e9 b\n");
}

TEST(Wrap, BreaksAtSpacesAndIndentsWhatFollows) {
  EXPECT_EQ(Wrap("aaa bbb ccc", 7, 2), "aaa bbb\n  ccc\n");
  EXPECT_EQ(Wrap("aaa bbb", 6), "aaa\nbbb\n");
  EXPECT_EQ(Wrap("longerthanwidth b", 5), "longerthanwidth\nb\n");
  EXPECT_EQ(Wrap("", 5), "\n");
  EXPECT_EQ(Wrap("a  ", 5), "a\n");
}

TEST(Printable, LetsNoControlCharacterThrough) {
  EXPECT_EQ(Printable("a\x1b[2J\n\x7f\xc2\x9b~"), "a?[2J???~");
  EXPECT_EQ(Printable("a\xff\xc3"), "a??") << "no UTF-8";
  EXPECT_EQ(Printable("\u202etxt.\u200b\U000e0041"), "?txt.??");
}

TEST(Printable, KeepsLettersOfAllWritingsAndCutsBetweenThem) {
  EXPECT_EQ(Printable("\u00e9\u0436\u72ac\U0001f415"), "\u00e9\u0436\u72ac\U0001f415");
  EXPECT_EQ(Printable("\u00e9\u0436\u72ac", 2), "\u00e9\u0436");
  EXPECT_EQ(Printable("abc", 0), "");
}

}  // namespace
}  // namespace interlude
