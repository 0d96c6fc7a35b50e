#include "images/label_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "images/csv_text.h"

namespace interlude {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Texts(const StatusOr<std::vector<ListedPicture>>& list) {
  if (!list.ok()) return {list.status().message()};
  std::vector<std::string> texts;
  for (const ListedPicture& picture : *list) {
    texts.push_back(fmt::format("{}:{}={}", picture.line, picture.path, picture.label));
  }
  return texts;
}

TEST(ReadCsv, ReadsQuotesCommasAndLineEndsInsideOfFields) {
  const auto rows = ReadCsv(
      "\xEF\xBB\xBF"
      "a,\"b,\"\"c\"\"\"\r\n\n\"two\nlines\",\nlast",
      "x.csv");
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  ASSERT_EQ(rows->size(), 3u);
  EXPECT_THAT((*rows)[0].fields, ElementsAre("a", "b,\"c\""));
  EXPECT_THAT((*rows)[1].fields, ElementsAre("two\nlines", ""));
  EXPECT_THAT((*rows)[2].fields, ElementsAre("last"));
  EXPECT_EQ((*rows)[0].line, 1u);
  EXPECT_EQ((*rows)[1].line, 3u);
  EXPECT_EQ((*rows)[2].line, 5u);
}

TEST(ReadCsv, NamesTheLineOfWhatItCannotRead) {
  EXPECT_THAT(ReadCsv("a,b\n\"c,d\ne", "x.csv").status().message(), HasSubstr("x.csv:2: a quote"));
  EXPECT_THAT(ReadCsv("\"a\"b", "x.csv").status().message(), HasSubstr("x.csv:1: text after"));
  EXPECT_THAT(ReadCsv(std::string("a\n\0b", 4), "x.csv").status().message(),
              HasSubstr("x.csv:2: a zero byte"));
  EXPECT_THAT(ReadCsv(std::string(300, ','), "x.csv").status().message(), HasSubstr("256 fields"));
}

std::string Written(const std::vector<std::string>& fields) {
  std::string text;
  for (const std::string& field : fields) {
    if (!text.empty()) text += ',';
    text += '"';
    for (const char c : field) text += c == '"' ? std::string("\"\"") : std::string(1, c);
    text += '"';
  }
  return text + "\r\n";
}

TEST(ReadCsv, ReadsBackWhateverWasQuoted) {
  Rng rng(5);
  constexpr std::string_view kLetters = "a\",\n\r ;\xC3";
  for (int i = 0; i < 500; ++i) {
    std::string text;
    std::vector<std::vector<std::string>> expected;
    for (uint64_t row = rng.Below(5); row > 0; --row) {
      std::vector<std::string> fields{"x"};
      for (uint64_t field = rng.Below(4); field > 0; --field) {
        std::string& value = fields.emplace_back();
        for (uint64_t n = rng.Below(6); n > 0; --n) value += kLetters[rng.Below(kLetters.size())];
      }
      text += Written(fields);
      expected.push_back(fields);
    }
    const auto rows = ReadCsv(text, "x");
    ASSERT_TRUE(rows.ok()) << rows.status().ToString() << "\n" << text;
    ASSERT_EQ(rows->size(), expected.size()) << text;
    for (size_t row = 0; row < expected.size(); ++row) {
      EXPECT_EQ((*rows)[row].fields, expected[row]) << text;
    }
  }
}

TEST(ParseCsvList, TakesTheFirstTwoColumnsWithoutAHeader) {
  EXPECT_THAT(Texts(ParseCsvList("a.jpg, cat\nb.jpg,dog\n", "x")),
              ElementsAre("1:a.jpg=cat", "2:b.jpg=dog"));
}

TEST(ParseCsvList, TakesTheColumnsThatAHeaderNames) {
  EXPECT_THAT(Texts(ParseCsvList("id,Label,FileName\n7,cat,\"a,b.jpg\"\n", "x")),
              ElementsAre("2:a,b.jpg=cat"));
  EXPECT_THAT(Texts(ParseCsvList("label,where\n", "x")), ElementsAre(HasSubstr("no path")));
}

TEST(ParseCsvList, NamesTheLineThatLacksSomething) {
  EXPECT_THAT(Texts(ParseCsvList("a.jpg,cat\nb.jpg\n", "x.csv")),
              ElementsAre(HasSubstr("x.csv:2: 1 fields")));
  EXPECT_THAT(Texts(ParseCsvList("a.jpg, \n", "x.csv")),
              ElementsAre(HasSubstr("x.csv:1: the label is empty")));
}

std::vector<std::string> ClassesOfLabels(const std::vector<std::string>& labels) {
  std::vector<ListedPicture> list;
  for (const std::string& label : labels) list.push_back({.label = label});
  const auto classes = ClassesOf({&list});
  return classes.ok() ? *classes : std::vector<std::string>{classes.status().message()};
}

TEST(ClassesOf, AreNumbersWhereEveryLabelIsOneElseNamesInOrder) {
  EXPECT_THAT(ClassesOfLabels({"3", "1", "1"}), ElementsAre("0", "1", "2", "3"));
  EXPECT_THAT(ClassesOfLabels({"10", "2"}), ::testing::SizeIs(11));
  EXPECT_THAT(ClassesOfLabels({"3", "cat", "Dog"}), ElementsAre("3", "Dog", "cat"));
  EXPECT_THAT(ClassesOfLabels({"01", "1"}), ElementsAre("01", "1"));
  EXPECT_THAT(ClassesOfLabels({"1000000"}), ElementsAre(HasSubstr("at most 1000000 classes")));
}

TEST(ParsePetList, ReadsNamesAndClasses) {
  const auto list =
      ParsePetList("# comment\nAbyssinian_100 1 1 1\r\n\ngreat_pyrenees_9 3 2 2", "x");
  EXPECT_THAT(Texts(list), ElementsAre("2:Abyssinian_100=1", "4:great_pyrenees_9=3"));
  EXPECT_EQ((*list)[1].name, "great_pyrenees");
}

TEST(ParsePetList, NamesTheLineOfWhatItCannotRead) {
  EXPECT_THAT(Texts(ParsePetList("a_1 1 1 1\na_2 1 1\n", "l.txt")),
              ElementsAre(HasSubstr("l.txt:2: 3 words")));
  EXPECT_THAT(Texts(ParsePetList("a_1 0 1 1", "l")), ElementsAre(HasSubstr("class id 0")));
  EXPECT_THAT(Texts(ParsePetList("a_1 9999999 1 1", "l")), ElementsAre(HasSubstr("class id")));
  EXPECT_THAT(Texts(ParsePetList("a1 1 1 1", "l")), ElementsAre(HasSubstr("not BREED_NUMBER")));
  EXPECT_THAT(Texts(ParsePetList("../a_1 1 1 1", "l")), ElementsAre(HasSubstr("in images/")));
}

TEST(ParsePetList, NeverCrashesOnDamagedText) {
  Rng rng(9);
  const std::string whole = "# c\nAbyssinian_100 1 1 1\nbeagle_2 2 2 1\n";
  for (int i = 0; i < 2000; ++i) {
    std::string text = whole.substr(0, rng.Below(whole.size() + 1));
    for (uint64_t n = rng.Below(4); n > 0 && !text.empty(); --n) {
      text[rng.Below(text.size())] = static_cast<char>(rng.Below(256));
    }
    for (const auto& list : {ParsePetList(text, "x"), ParseCsvList(text, "x")}) {
      EXPECT_TRUE(list.ok() || list.status().code() == StatusCode::kInvalidArgument);
    }
  }
}

}  // namespace
}  // namespace interlude
