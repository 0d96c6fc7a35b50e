#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "images/data_set.h"
#include "images/idx_file.h"

namespace interlude {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Idx(const std::vector<uint32_t>& dimensions, const std::string& bytes) {
  std::string text{'\0', '\0', '\x08', static_cast<char>(dimensions.size())};
  for (const uint32_t dimension : dimensions) {
    for (const int shift : {24, 16, 8, 0}) text += static_cast<char>(dimension >> shift & 0xff);
  }
  return text + bytes;
}

void WritePlain(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void WriteGzip(const std::string& path, const std::string& bytes) {
  gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
            static_cast<int>(bytes.size()));
  ASSERT_EQ(gzclose(file), Z_OK);
}

std::string ReadWhole(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Three training images and two test images of 2 x 2 pixels.
class IdxDataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    directory_ = testing::TempDir() + "/idx_data_" + test->name();
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    config_.directory = directory_;
    WriteGzip(Path("train-images-idx3-ubyte.gz"), Idx({3, 2, 2}, "abcdefghijkl"));
    WriteGzip(Path("train-labels-idx1-ubyte.gz"), Idx({3}, "\x01\x09\x03"));
    WriteGzip(Path("t10k-images-idx3-ubyte.gz"), Idx({2, 2, 2}, "mnopqrst"));
    WriteGzip(Path("t10k-labels-idx1-ubyte.gz"), Idx({2}, "\x04\x05"));
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  Status LoadError() const { return LoadDataSet(config_).status(); }

  std::string directory_;
  DataConfig config_;
};

TEST_F(IdxDataTest, ImagesAndLabelsAreReadInOrder) {
  const auto data = LoadDataSet(config_);
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  EXPECT_EQ(data->train.size(), 3u);
  EXPECT_EQ(data->test.size(), 2u);
  EXPECT_EQ(data->classes.size(), 10u);
  EXPECT_THAT(data->train.labels, ElementsAre(1, 9, 3));
  EXPECT_THAT(data->train.pixels.image(1).bytes(), ElementsAre('e', 'f', 'g', 'h'));
  EXPECT_THAT(data->test.pixels.image(1).bytes(), ElementsAre('q', 'r', 's', 't'));
}

TEST_F(IdxDataTest, PlainFilesAreReadWhereThereAreNoCompressedOnes) {
  std::filesystem::remove(Path("t10k-labels-idx1-ubyte.gz"));
  WritePlain(Path("t10k-labels-idx1-ubyte"), Idx({2}, "\x07\x06"));
  const auto data = LoadDataSet(config_);
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  EXPECT_THAT(data->test.labels, ElementsAre(7, 6));
}

TEST_F(IdxDataTest, LimitsKeepTheFirstSamples) {
  config_.train_limit = 2;
  config_.test_limit = 99;
  const auto data = LoadDataSet(config_);
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  EXPECT_THAT(data->train.labels, ElementsAre(1, 9));
  EXPECT_EQ(data->train.pixels.bytes.size(), 8u);
  EXPECT_EQ(data->test.size(), 2u);
}

TEST_F(IdxDataTest, AMissingDataSetNamesDirectoryAndPackage) {
  config_.directory = directory_ + "/absent";
  const Status status = LoadError();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), AllOf(HasSubstr(config_.directory),
                                      HasSubstr("apt-get install dataset-fashion-mnist")));
}

TEST_F(IdxDataTest, AnUnknownDataSetIsRefused) {
  config_.name = "imagenet";
  EXPECT_EQ(LoadError().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(LoadError().message(), AllOf(HasSubstr("imagenet"), HasSubstr("fashion_mnist")));
}

TEST_F(IdxDataTest, AnotherMagicOrNumberOfDimensionsIsDataLoss) {
  WriteGzip(Path("train-images-idx3-ubyte.gz"), Idx({12}, "abcdefghijkl"));
  EXPECT_EQ(LoadError().code(), StatusCode::kDataLoss);
  EXPECT_THAT(LoadError().message(),
              AllOf(HasSubstr("train-images"), HasSubstr("begins with 00000801")));
  WriteGzip(Path("train-images-idx3-ubyte.gz"), "a text, not images");
  EXPECT_EQ(LoadError().code(), StatusCode::kDataLoss);
}

TEST_F(IdxDataTest, MoreImagesThanLabelsIsDataLoss) {
  WriteGzip(Path("train-labels-idx1-ubyte.gz"), Idx({2}, "\x01\x02"));
  EXPECT_EQ(LoadError().code(), StatusCode::kDataLoss);
  EXPECT_THAT(LoadError().message(), AllOf(HasSubstr("3 images"), HasSubstr("2 labels")));
}

TEST_F(IdxDataTest, ALabelBeyondTheClassesIsDataLoss) {
  WriteGzip(Path("train-labels-idx1-ubyte.gz"), Idx({3}, "\x01\x0a\x02"));
  EXPECT_EQ(LoadError().code(), StatusCode::kDataLoss);
  EXPECT_THAT(LoadError().message(), HasSubstr("label 10 at sample 1"));
}

TEST_F(IdxDataTest, TestImagesOfAnotherSizeAreDataLoss) {
  WriteGzip(Path("t10k-images-idx3-ubyte.gz"), Idx({2, 1, 3}, "mnopqr"));
  EXPECT_EQ(LoadError().code(), StatusCode::kDataLoss);
}

TEST_F(IdxDataTest, AFileCutAnywhereIsDataLoss) {
  const std::string whole = Idx({3, 2, 2}, "abcdefghijkl");
  std::filesystem::remove(Path("train-images-idx3-ubyte.gz"));
  for (size_t size = 0; size < whole.size(); ++size) {
    WritePlain(Path("train-images-idx3-ubyte"), whole.substr(0, size));
    EXPECT_EQ(LoadError().code(), StatusCode::kDataLoss) << size;
  }
  WritePlain(Path("train-images-idx3-ubyte"), whole + "x");
  EXPECT_THAT(LoadError().message(), HasSubstr("more than the 12 bytes"));
}

TEST_F(IdxDataTest, AGzipStreamCutAnywhereIsDataLoss) {
  const std::string path = Path("train-images-idx3-ubyte.gz");
  const std::string whole = ReadWhole(path);
  for (size_t size = 0; size < whole.size(); ++size) {
    WritePlain(path, whole.substr(0, size));
    EXPECT_EQ(LoadError().code(), StatusCode::kDataLoss) << size;
  }
}

TEST_F(IdxDataTest, ACutInTheChecksumAfterManyBytesIsDataLoss) {
  const std::string path = Path("big.gz");
  const std::string bytes(5'000'000, 'x');
  WriteGzip(path, Idx({5'000'000}, bytes));
  const std::string whole = ReadWhole(path);
  ASSERT_TRUE(ReadIdxFile(path, 1).ok());
  for (size_t missing = 1; missing <= 8; ++missing) {
    WritePlain(path, whole.substr(0, whole.size() - missing));
    EXPECT_EQ(ReadIdxFile(path, 1).status().code(), StatusCode::kDataLoss) << missing;
  }
}

TEST_F(IdxDataTest, AFlippedBitInAGzipStreamIsDataLossOrChangesNothing) {
  const std::string path = Path("train-images-idx3-ubyte.gz");
  const std::string whole = ReadWhole(path);
  const auto original = LoadDataSet(config_);
  ASSERT_TRUE(original.ok());
  size_t unchanged = 0;
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    WritePlain(path, flipped);
    const auto data = LoadDataSet(config_);
    if (data.ok()) {
      EXPECT_EQ(data->train.pixels.bytes, original->train.pixels.bytes) << bit;
      ++unchanged;
    } else {
      EXPECT_EQ(data.status().code(), StatusCode::kDataLoss) << bit;
    }
  }
  // Time, level and system in the header, and the padding after the last symbol, stand for nothing.
  EXPECT_LE(unchanged, 6 * 8 + 8u + 7u);
}

TEST_F(IdxDataTest, AHugeClaimIsRefusedBeforeItIsAllocated) {
  const std::string path = Path("huge");
  WritePlain(path, Idx({0xffffffffu, 0xffffffffu, 0xffffffffu}, "abc"));
  EXPECT_THAT(ReadIdxFile(path, 3).status().message(), HasSubstr("limit"));
  WritePlain(path, Idx({0x40000000u, 1, 1}, "abc"));
  EXPECT_THAT(ReadIdxFile(path, 3).status().message(), HasSubstr("ends after 3 bytes"));
  EXPECT_EQ(ReadIdxFile(Path("absent"), 3).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace interlude
