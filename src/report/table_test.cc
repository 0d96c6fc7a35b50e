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

TEST(HumanSeconds, HasTheDigitsThatHelp) {
  EXPECT_EQ(HumanSeconds(0), "0 ms");
  EXPECT_EQ(HumanSeconds(0.00004), "0.04 ms");
  EXPECT_EQ(HumanSeconds(0.0028), "2.8 ms");
  EXPECT_EQ(HumanSeconds(0.064), "64 ms");
  EXPECT_EQ(HumanSeconds(0.09949), "99 ms");
  EXPECT_EQ(HumanSeconds(0.0996), "0.10 s");
  EXPECT_EQ(HumanSeconds(108.12), "108.1 s");
  EXPECT_EQ(HumanSeconds(3720), "1 h 02 min");
}

TEST(HumanBytes, CountsInPowersOfTen) {
  EXPECT_EQ(HumanBytes(0), "0 bytes");
  EXPECT_EQ(HumanBytes(450'000), "0.45 MB");
  EXPECT_EQ(HumanBytes(335'700'000), "335.7 MB");
  EXPECT_EQ(HumanBytes(2.5e9), "2.50 GB");
}

TEST(Count, HasAPlural) {
  EXPECT_EQ(Count(1, "chunk"), "1 chunk");
  EXPECT_EQ(Count(0, "chunk"), "0 chunks");
  EXPECT_EQ(Count(184'320, "sample"), "184,320 samples");
}

TEST(HumanCount, HasACommaEveryThreeDigits) {
  EXPECT_EQ(HumanCount(999), "999");
  EXPECT_EQ(HumanCount(1000), "1,000");
  EXPECT_EQ(HumanCount(12'345'678), "12,345,678");
  EXPECT_EQ(HumanCount(-100), "-100");
}

}  // namespace
}  // namespace interlude
