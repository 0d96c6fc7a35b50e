#include "images/image_pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "images/test_folder.h"
#include "images/test_pictures.h"

namespace interlude {
namespace {

using ::testing::HasSubstr;

class ImagePipelineTest : public ::testing::Test {
 protected:
  ImagePipelineTest() {
    for (int i = 0; i < 10; ++i) {
      for (const char* name : {"a", "b"}) {
        folder_.Write(fmt::format("{}/{}.jpg", name, i),
                      PictureFile(PictureKind::kColor, 60 + i, 50, ".jpg"));
      }
    }
    config_.data.name = "folder";
    config_.data.directory = folder_.path();
    config_.model.image_size = 16;
    config_.model.channels = 3;
    config_.augment.random_crop = true;
  }

  std::vector<float> FirstBatch() {
    const auto pipeline = ImagePipeline::Open(config_, 2);
    EXPECT_TRUE(pipeline.ok()) << pipeline.status().ToString();
    BatchLoader& loader = (*pipeline)->training();
    std::vector<float> floats;
    for (int i = 0; i < 2; ++i) loader.Request({.epoch = 1, .samples = {3, 1, 4, 15}});
    for (int i = 0; i < 2; ++i) {
      auto batch = loader.Take();
      EXPECT_TRUE(batch.ok()) << batch.status().ToString();
      floats.insert(floats.end(), batch->images().begin(), batch->images().end());
    }
    EXPECT_EQ(loader.counters().cache_hits > 0, config_.data.cache);
    return floats;
  }

  TestFolder folder_;
  RunConfig config_;
};

TEST_F(ImagePipelineTest, TheCacheChangesNoBit) {
  const auto with_cache = FirstBatch();
  EXPECT_TRUE(std::equal(with_cache.begin(), with_cache.begin() + 4 * 3 * 16 * 16,
                         with_cache.begin() + 4 * 3 * 16 * 16));
  config_.data.cache = false;
  EXPECT_EQ(FirstBatch(), with_cache);
}

TEST_F(ImagePipelineTest, EvaluationGoesThroughTheTestPart) {
  const auto pipeline = ImagePipeline::Open(config_, 2);
  ASSERT_TRUE(pipeline.ok()) << pipeline.status().ToString();
  EXPECT_EQ((*pipeline)->data().test.size(), 4u);
  const auto loader = (*pipeline)->MakeEvaluationLoader();
  loader->Request({.samples = {0, 1, 2, 3}, .training = false});
  const auto batch = loader->Take();
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_THAT(batch->labels(), ::testing::ElementsAre(0, 0, 1, 1));
}

TEST_F(ImagePipelineTest, BadTestPicturesCountOnceInAllEvaluationsTogether) {
  config_.data.bad_share = 0.25;  // of four
  const auto pipeline = ImagePipeline::Open(config_, 2);
  ASSERT_TRUE(pipeline.ok()) << pipeline.status().ToString();
  const std::vector<std::string>& files = (*pipeline)->data().test.files;
  const auto take = [&](uint32_t sample) {
    const auto loader = (*pipeline)->MakeEvaluationLoader();
    loader->Request({.samples = {sample}, .training = false});
    return loader->Take().status();
  };
  folder_.Write(files[0].substr(folder_.path().size()), "no picture");
  folder_.Write(files[2].substr(folder_.path().size()), "no picture");
  EXPECT_EQ(take(0), OkStatus());
  EXPECT_EQ(take(0), OkStatus());
  EXPECT_THAT(take(2).message(), HasSubstr("2 of 4 pictures cannot be read"));
}

TEST_F(ImagePipelineTest, RefusesBatchesForWhichThereIsNoMemory) {
  config_.train.batch = 1'000'000'000;
  const Status status = ImagePipeline::Open(config_, 1).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(),
              HasSubstr("batches (data.prefetch and one) of 1000000000 pictures"));
}

TEST_F(ImagePipelineTest, RefusesAModelOfOtherChannels) {
  config_.model.channels = 4;
  EXPECT_THAT(ImagePipeline::Open(config_, 1).status().message(), HasSubstr("model.channels = 4"));
}

TEST(SharedPets, AreLoadedWithoutABadFile) {
  RunConfig config;
  config.data.name = "pets";
  config.data.directory = std::string(INTERLUDE_SHARED_DATA) + "/oxford-pets";
  if (!std::filesystem::exists(config.data.directory)) {
    GTEST_SKIP() << "no " << config.data.directory;
  }
  config.model.image_size = 64;
  config.model.channels = 3;
  const auto pipeline = ImagePipeline::Open(config, 2);
  ASSERT_TRUE(pipeline.ok()) << pipeline.status().ToString();
  const auto loader = (*pipeline)->MakeEvaluationLoader();
  BatchRequest all{.training = false};
  for (uint32_t i = 0; i < (*pipeline)->data().test.size(); ++i) all.samples.push_back(i);
  loader->Request(std::move(all));
  const auto batch = loader->Take();
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_EQ(batch->labels().size(), 128u);
}

}  // namespace
}  // namespace interlude
