#include "images/layouts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <set>
#include <sstream>

#include "images/test_folder.h"

namespace interlude {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LayoutsTest : public ::testing::Test {
 protected:
  StatusOr<DataSet> Load(const std::string& name) {
    config_.name = name;
    config_.directory = folder_.path();
    return LoadDataSet(config_);
  }
  std::string Error(const std::string& name) { return Load(name).status().message(); }

  /// "CLASS/FILE" of each sample, by the labels' names.
  std::vector<std::string> Names(const DataSet& set, const DataPart& part) {
    std::vector<std::string> names;
    for (size_t i = 0; i < part.size(); ++i) {
      names.push_back(fmt::format("{} {}", set.classes.at(part.labels[i]),
                                  part.files[i].substr(folder_.path().size() + 1)));
    }
    return names;
  }

  TestFolder folder_;
  DataConfig config_;
};

TEST_F(LayoutsTest, AFolderForEachClassIsListedInOrderOfNames) {
  for (const char* name : {"train/b/2.JPG", "train/b/10.jpg", "train/B/x.png", "train/b/notes.txt",
                           "train/b/.hidden.jpg", "test/b/t.webp", "readme.jpg"}) {
    folder_.Write(name, "");
  }
  const auto set = Load("folder");
  ASSERT_TRUE(set.ok()) << set.status().ToString();
  EXPECT_THAT(set->classes, ElementsAre("B", "b"));
  EXPECT_THAT(Names(*set, set->train),
              ElementsAre("B train/B/x.png", "b train/b/10.jpg", "b train/b/2.JPG"));
  EXPECT_THAT(Names(*set, set->test), ElementsAre("b test/b/t.webp"));
  EXPECT_TRUE(set->in_files());
}

TEST_F(LayoutsTest, WithoutATestFolderAPartOfEachClassIsSetAsideAlwaysTheSame) {
  for (int i = 0; i < 40; ++i) folder_.Write(fmt::format("cats/{}.jpg", i), "");
  for (int i = 0; i < 3; ++i) folder_.Write(fmt::format("dogs/{}.jpg", i), "");
  folder_.Write("eels/only.jpg", "");
  config_.test_share = 0.25;
  const auto set = Load("folder");
  ASSERT_TRUE(set.ok()) << set.status().ToString();
  EXPECT_EQ(set->train.size(), 30u + 2 + 1);
  EXPECT_EQ(set->test.size(), 10u + 1);
  const auto train = Names(*set, set->train), test = Names(*set, set->test);
  std::set<std::string> all(train.begin(), train.end());
  all.insert(test.begin(), test.end());
  EXPECT_EQ(all.size(), 44u);
  EXPECT_TRUE(std::is_sorted(train.begin(), train.end()));
  EXPECT_EQ(Names(*set, Load("folder")->test), test);
  EXPECT_NE(test.front(), "cats cats/0.jpg") << "the first ones were taken, not scattered ones";
}

TEST_F(LayoutsTest, AFolderWithoutClassesOrWithOneTooManyIsRefused) {
  EXPECT_THAT(Error("folder"), HasSubstr("has 0 folders"));
  folder_.Write("train/a/1.jpg", "");
  folder_.Write("train/b/1.jpg", "");
  folder_.Write("test/c/1.jpg", "");
  EXPECT_THAT(Error("folder"), HasSubstr("test/c: a class that the training set has not"));
  std::filesystem::remove_all(folder_ / "test/c");
  EXPECT_THAT(Error("folder"), HasSubstr("no pictures in the test set"));
}

TEST_F(LayoutsTest, ACsvGivesPathsBelowTheFolderAndNames) {
  folder_.Write("train.csv", "path,label\n\"a, b.jpg\",dog\n/abs/c.jpg,cat\n");
  folder_.Write("test.csv", "d.jpg,dog\n");
  const auto set = Load("csv");
  ASSERT_TRUE(set.ok()) << set.status().ToString();
  EXPECT_THAT(set->classes, ElementsAre("cat", "dog"));
  EXPECT_THAT(set->train.labels, ElementsAre(1, 0));
  EXPECT_THAT(set->train.files, ElementsAre(folder_ / "a, b.jpg", "/abs/c.jpg"));
  EXPECT_THAT(set->test.files, ElementsAre(folder_ / "d.jpg"));
}

TEST_F(LayoutsTest, ACsvWithoutATestFileIsSplit) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += fmt::format("{}.jpg,{}\n", i, i % 2);
  folder_.Write("train.csv", text);
  const auto set = Load("csv");
  ASSERT_TRUE(set.ok()) << set.status().ToString();
  EXPECT_EQ(set->train.size(), 16u);
  EXPECT_EQ(set->test.size(), 4u);
  config_.train_limit = 3;
  EXPECT_EQ(Load("csv")->train.files.size(), 3u);
}

TEST_F(LayoutsTest, AListOfClassesNamesThoseThatHaveNoFolder) {
  folder_.Write("classes.txt",
                "\xEF\xBB\xBF"
                "eel\r\ncat\n\ndog");
  for (const char* name : {"train/dog/1.jpg", "train/dog/2.jpg", "test/cat/1.jpg"}) {
    folder_.Write(name, "");
  }
  const auto set = Load("folder");
  ASSERT_TRUE(set.ok()) << set.status().ToString();
  EXPECT_THAT(set->classes, ElementsAre("eel", "cat", "dog"));
  EXPECT_THAT(Names(*set, set->train), ElementsAre("dog train/dog/1.jpg", "dog train/dog/2.jpg"));
  EXPECT_THAT(Names(*set, set->test), ElementsAre("cat test/cat/1.jpg"));
  EXPECT_THAT(CountByClass(set->train, 3), ElementsAre(0, 0, 2));
  EXPECT_THAT(CountByClass(set->test, 3), ElementsAre(0, 1, 0));
  folder_.Write("train/fox/1.jpg", "");
  EXPECT_THAT(Error("folder"),
              AllOf(HasSubstr("train/fox: a class that "), HasSubstr("classes.txt does not name")));
}

TEST_F(LayoutsTest, AListOfClassesNumbersTheLabelsOfACsv) {
  folder_.Write("train.csv", "1.jpg,dog\n2.jpg,cat\n");
  folder_.Write("test.csv", "3.jpg,dog\n");
  folder_.Write("classes.txt", "eel\ndog\ncat\n");
  const auto set = Load("csv");
  ASSERT_TRUE(set.ok()) << set.status().ToString();
  EXPECT_THAT(set->classes, ElementsAre("eel", "dog", "cat"));
  EXPECT_THAT(set->train.labels, ElementsAre(1, 2));
  folder_.Write("test.csv", "3.jpg,dog\n4.jpg,0\n");
  EXPECT_THAT(Error("csv"), HasSubstr("test.csv:2: label \"0\" is none of the 3 names"));
}

TEST_F(LayoutsTest, AListOfClassesThatCannotBeMeantIsRefused) {
  folder_.Write("cat/1.jpg", "");
  folder_.Write("classes.txt", "cat\ndog\ncat\n");
  EXPECT_THAT(Error("folder"), HasSubstr("classes.txt:3: class \"cat\" stands in line 1 already"));
  folder_.Write("classes.txt", "\ncat\n");
  EXPECT_THAT(Error("folder"), HasSubstr("classes.txt names 1 classes; there are 2 to"));
  std::filesystem::remove(folder_ / "classes.txt");
  EXPECT_THAT(Error("folder"), AllOf(HasSubstr("has 1 folders"), HasSubstr("/classes.txt)")));
  ASSERT_EQ(::symlink("classes.txt", (folder_ / "classes.txt").c_str()), 0);
  EXPECT_THAT(Error("folder"), HasSubstr("looking at"));
}

TEST_F(LayoutsTest, AMissingOrDamagedCsvIsNamedWithItsLine) {
  EXPECT_THAT(Error("csv"), AllOf(HasSubstr("train.csv"), HasSubstr("data.train_csv")));
  folder_.Write("train.csv", "a.jpg,cat\nb.jpg\n");
  EXPECT_THAT(Error("csv"), HasSubstr("train.csv:2:"));
}

TEST_F(LayoutsTest, ATestPartThatCannotBeLookedAtIsNotReplacedBySettingAside) {
  for (const char* name : {"test", "test.csv"}) {
    ASSERT_EQ(::symlink(name, (folder_ / name).c_str()), 0);  // leads around in a circle
  }
  folder_.Write("train.csv", "0.jpg,0\n1.jpg,1\n2.jpg,0\n3.jpg,1\n");
  EXPECT_THAT(Error("csv"), AllOf(HasSubstr("looking at"), HasSubstr("test.csv")));
  for (const char* name : {"train/a/1.jpg", "train/a/2.jpg", "train/b/1.jpg", "train/b/2.jpg"}) {
    folder_.Write(name, "");
  }
  EXPECT_THAT(Error("folder"), AllOf(HasSubstr("looking at"), HasSubstr("/test")));
  std::filesystem::remove(folder_ / "test");
  EXPECT_TRUE(Load("folder").ok());
}

TEST_F(LayoutsTest, ClassesWithoutATrainingPictureAreNamed) {
  folder_.Write("train.csv", "1.jpg,cat\n2.jpg,dog\n");
  folder_.Write("test.csv", "3.jpg,cat\n4.jpg,eel\n");
  std::ostringstream log;
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log)));
  EXPECT_TRUE(Load("csv").ok());
  config_.train_limit = 1;
  EXPECT_TRUE(Load("csv").ok());
  spdlog::set_default_logger(before);
  EXPECT_THAT(log.str(),
              AllOf(HasSubstr("1 of 3 classes have no training picture: \"eel\"\n"),
                    HasSubstr("2 of 3 classes have no training picture: \"dog\", \"eel\"\n")));
}

TEST_F(LayoutsTest, ThePetsAreReadFromTheirLists) {
  folder_.Write("annotations/trainval.txt", "#x\nAbyssinian_2 1 1 1\nbeagle_7 2 2 1\n");
  folder_.Write("annotations/test.txt", "beagle_9 2 2 1\n");
  const auto set = Load("pets");
  ASSERT_TRUE(set.ok()) << set.status().ToString();
  EXPECT_THAT(Names(*set, set->train),
              ElementsAre("Abyssinian images/Abyssinian_2.jpg", "beagle images/beagle_7.jpg"));
  EXPECT_THAT(Names(*set, set->test), ElementsAre("beagle images/beagle_9.jpg"));
}

TEST_F(LayoutsTest, PetListsThatDisagreeAreRefused) {
  EXPECT_THAT(Error("pets"), AllOf(HasSubstr("trainval.txt"), HasSubstr("annotations/")));
  folder_.Write("annotations/trainval.txt", "Abyssinian_2 1 1 1\nbeagle_7 2 2 1\n");
  folder_.Write("annotations/test.txt", "pug_9 2 2 1\n");
  EXPECT_THAT(Error("pets"), HasSubstr("test.txt:1: class 2 is pug here and beagle before"));
  folder_.Write("annotations/test.txt", "pug_9 4 2 1\n");
  EXPECT_THAT(Error("pets"), HasSubstr("no picture of class 3"));
}

std::string CifarRecord(size_t label_bytes, char label, char red, char green, char blue) {
  return std::string(label_bytes - 1, '\x05') + label + std::string(1024, red) +
         std::string(1024, green) + std::string(1023, blue) + "z";
}

TEST_F(LayoutsTest, CifarPlanesBecomePixels) {
  for (int i = 1; i <= 5; ++i) {
    folder_.Write(fmt::format("cifar-10-batches-bin/data_batch_{}.bin", i),
                  CifarRecord(1, static_cast<char>(i), 'r', 'g', 'b'));
  }
  folder_.Write("cifar-10-batches-bin/test_batch.bin", CifarRecord(1, 0, 'R', 'G', 'B'));
  folder_.Write("cifar-10-batches-bin/batches.meta.txt", "airplane\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n");
  const auto set = Load("cifar10");
  ASSERT_TRUE(set.ok()) << set.status().ToString();
  EXPECT_EQ(set->classes.front(), "airplane");
  EXPECT_THAT(set->train.labels, ElementsAre(1, 2, 3, 4, 5));
  const PictureView image = set->train.pixels.image(3);
  EXPECT_EQ(std::string(image.data, image.data + 6), "rgbrgb");
  EXPECT_EQ(image.bytes().back(), 'z');
  EXPECT_EQ(image.size(), 3072u);
}

TEST_F(LayoutsTest, Cifar100HasTwoLabelsOfWhichTheSecondCounts) {
  folder_.Write("train.bin", CifarRecord(2, 99, 'r', 'g', 'b'));
  folder_.Write("test.bin", CifarRecord(2, 3, 'r', 'g', 'b'));
  const auto set = Load("cifar100");
  ASSERT_TRUE(set.ok()) << set.status().ToString();
  EXPECT_EQ(set->classes.size(), 100u);
  EXPECT_THAT(set->train.labels, ElementsAre(99));
}

TEST_F(LayoutsTest, ACifarFileCutAnywhereOrWithALabelTooLargeIsDataLoss) {
  const std::string record = CifarRecord(2, 1, 'r', 'g', 'b');
  folder_.Write("test.bin", record);
  for (size_t size = 0; size < record.size(); size += 7) {
    folder_.Write("train.bin", record.substr(0, size));
    EXPECT_EQ(Load("cifar100").status().code(), StatusCode::kDataLoss) << size;
  }
  folder_.Write("train.bin", CifarRecord(2, 100, 'r', 'g', 'b'));
  EXPECT_THAT(Error("cifar100"), HasSubstr("label 100 at sample 0"));
  std::filesystem::remove(folder_ / "train.bin");
  EXPECT_EQ(Load("cifar100").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Load("cifar10").status().code(), StatusCode::kNotFound);
}

#ifdef INTERLUDE_SHARED_DATA
TEST(SharedPets, AreListedWhole) {
  const std::string shared = INTERLUDE_SHARED_DATA;
  if (!std::filesystem::exists(shared + "/oxford-pets")) GTEST_SKIP() << "no " << shared;
  DataConfig config{.name = "pets", .directory = shared + "/oxford-pets"};
  const auto set = LoadDataSet(config);
  ASSERT_TRUE(set.ok()) << set.status().ToString();
  EXPECT_EQ(set->classes.size(), 37u);
  EXPECT_EQ(set->train.size(), 482u);
  EXPECT_EQ(set->test.size(), 128u);
  EXPECT_EQ(set->classes[set->train.labels[0]], "Abyssinian");
}
#endif

TEST(HasPictureFiles, IsWhatTheLayoutsGive) {
  for (const char* name : {"folder", "csv", "pets"}) EXPECT_TRUE(HasPictureFiles(name)) << name;
  for (const char* name : {"fashion_mnist", "mnist", "cifar10", "cifar100", ""}) {
    EXPECT_FALSE(HasPictureFiles(name)) << name;
  }
}

}  // namespace
}  // namespace interlude
