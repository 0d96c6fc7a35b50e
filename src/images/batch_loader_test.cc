#include "images/batch_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <optional>

#include "images/test_noise.h"

namespace interlude {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kSamples = 40;

/// Files that exist in name only: file i gives a picture that follows from i. Those in `bad` cannot
/// be read.
class BatchLoaderTest : public ::testing::Test {
 protected:
  BatchLoaderTest() {
    for (uint64_t i = 0; i < kSamples; ++i) {
      part_.files.push_back(fmt::format("{}", i));
      part_.labels.push_back(static_cast<uint32_t>(100 + i));
    }
    options_.size = 12;
    options_.seed = 3;
    options_.augment.random_crop = true;
    options_.augment.flip = 0.5;
  }

  Status Decode(const std::string& path, Picture& out) {
    ++decodes_;
    const uint64_t number = std::stoull(path);
    if (std::ranges::find(bad_, number) != bad_.end()) return DataLossError("{}: broken", path);
    out = NoisePicture(20 + static_cast<uint32_t>(number % 5), 18, 3, number);
    return OkStatus();
  }

  DecodeFunction Decoder() {
    return [this](const std::string& path, Picture& out) { return Decode(path, out); };
  }

  /// The floats and labels of `batches` batches of 7 samples each.
  std::vector<float> Run(const LoaderOptions& loader_options, uint64_t cache_bytes, int batches,
                         LoaderCounters* counters = nullptr) {
    const Pictures pictures(part_, Decoder(), {.bytes = cache_bytes});
    const Transform transform(options_);
    BatchLoader loader(pictures, transform, none_bad_, loader_options);
    std::vector<float> all;
    for (int i = 0; i < batches; ++i) loader.Request(Batch(i));
    for (int i = 0; i < batches; ++i) {
      auto batch = loader.Take();
      EXPECT_TRUE(batch.ok()) << batch.status().ToString();
      if (!batch.ok()) break;
      const auto images = batch->images();
      all.insert(all.end(), images.begin(), images.end());
      for (const int64_t label : batch->labels()) all.push_back(static_cast<float>(label));
    }
    if (counters != nullptr) *counters = loader.counters();
    return all;
  }

  static BatchRequest Batch(int number) {
    BatchRequest request{.epoch = static_cast<uint64_t>(number) / 5};
    for (uint32_t i = 0; i < 7; ++i) {
      request.samples.push_back((static_cast<uint32_t>(number) * 7 + i) % kSamples);
    }
    return request;
  }

  DataPart part_;
  TransformOptions options_;
  std::vector<uint64_t> bad_;
  BadPictures none_bad_{kSamples, 0};
  std::atomic<int> decodes_{0};
};

TEST_F(BatchLoaderTest, BatchesAreTheSameWhateverThreadsPrefetchAndCache) {
  const std::vector<float> expected = Run({.threads = 0}, 0, 20);
  EXPECT_EQ(expected.size(), 20u * 7 * (3 * 12 * 12 + 1));
  for (const int threads : {1, 2, 5}) {
    for (const uint32_t prefetch : {1u, 4u}) {
      for (const uint64_t cache : {uint64_t{0}, uint64_t{16} << 20}) {
        EXPECT_EQ(Run({.threads = threads, .prefetch = prefetch}, cache, 20), expected)
            << threads << " threads, " << prefetch << " ahead, cache of " << cache;
      }
    }
  }
}

TEST_F(BatchLoaderTest, TheCacheSparesDecoding) {
  LoaderCounters counters;
  Run({.threads = 0}, uint64_t{16} << 20, 20, &counters);
  EXPECT_EQ(decodes_, static_cast<int>(kSamples));
  EXPECT_EQ(counters.decoded, kSamples);
  EXPECT_EQ(counters.cache_hits, 140 - kSamples);
  EXPECT_GT(counters.cpu_ns, 0);
  EXPECT_GE(counters.wait_ns, 0);
}

TEST_F(BatchLoaderTest, ACacheThatIsTooSmallKeepsNothing) {
  LoaderCounters counters;
  Run({.threads = 0}, 1000, 20, &counters);
  EXPECT_EQ(counters.cache_hits, 0u);
}

TEST_F(BatchLoaderTest, ABadPictureIsReplacedByTheNextWithItsLabel) {
  bad_ = {8, 9, kSamples - 1};
  const Pictures pictures(part_, Decoder());
  const Transform transform(options_);
  for (const int threads : {0, 3}) {
    BadPictures bad(kSamples, 0.1);
    BatchLoader loader(pictures, transform, bad, {.threads = threads});
    loader.Request({.samples = {7, 8, 10, kSamples - 1, 0}});
    auto batch = loader.Take();
    ASSERT_TRUE(batch.ok()) << batch.status().ToString();
    EXPECT_THAT(batch->labels(), ElementsAre(107, 110, 110, 100, 100));
    const size_t picture = batch->images().size() / 5;
    const auto second = batch->images().subspan(picture, picture);
    const auto third = batch->images().subspan(2 * picture, picture);
    EXPECT_TRUE(std::ranges::equal(second, third));
    EXPECT_EQ(bad.count(), 3u);
  }
}

TEST_F(BatchLoaderTest, TooManyBadPicturesAreAnErrorThatNamesTheFirst) {
  bad_ = {3, 5, 11};
  const Pictures pictures(part_, Decoder());
  const Transform transform(options_);
  for (const int threads : {0, 4}) {
    BadPictures bad(kSamples, 0.05);
    BatchLoader loader(pictures, transform, bad, {.threads = threads});
    for (const uint32_t sample : {5u, 3u, 5u, 11u, 0u}) loader.Request({.samples = {sample}});
    EXPECT_TRUE(loader.Take().ok());
    EXPECT_TRUE(loader.Take().ok());
    EXPECT_TRUE(loader.Take().ok()) << "the same one again";
    const Status status = loader.Take().status();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_THAT(status.message(),
                HasSubstr("3 of 40 pictures cannot be read, data.bad_share = 0.05 allows 2: 3: "
                          "broken; 5: broken; 11: broken."));
  }
}

TEST_F(BatchLoaderTest, WithoutAnyGoodPictureTheErrorReachesTheConsumer) {
  for (uint64_t i = 0; i < kSamples; ++i) bad_.push_back(i);
  const Pictures pictures(part_, Decoder());
  const Transform transform(options_);
  BadPictures bad(kSamples, 1);
  BatchLoader loader(pictures, transform, bad, {.threads = 2});
  loader.Request(Batch(0));
  EXPECT_THAT(loader.Take().status().message(), HasSubstr("one after the other cannot be read"));
}

TEST_F(BatchLoaderTest, AFailureOfTheMachineReachesTheConsumerAndReplacesNothing) {
  const Pictures pictures(part_, [&](const std::string& path, Picture& out) {
    if (path == "2") return ErrnoError(EMFILE, "opening 2");
    return Decode(path, out);
  });
  const Transform transform(options_);
  for (const int threads : {0, 3}) {
    BadPictures bad(kSamples, 1);
    BatchLoader loader(pictures, transform, bad, {.threads = threads});
    loader.Request({.samples = {1, 2, 3}});
    loader.Request({.samples = {1, 3}});
    EXPECT_EQ(loader.Take().status().code(), StatusCode::kResourceExhausted);
    EXPECT_TRUE(loader.Take().ok());
    EXPECT_EQ(bad.count(), 0u);
  }
}

TEST_F(BatchLoaderTest, ItStopsAtAnyMomentAndBatchesMayOutliveIt) {
  const Pictures pictures(part_, Decoder());
  const Transform transform(options_);
  for (int taken = 0; taken < 12; ++taken) {
    std::optional<LoadedBatch> last;
    {
      BatchLoader loader(pictures, transform, none_bad_, {.threads = 3, .prefetch = 2});
      for (int i = 0; i < 12; ++i) loader.Request(Batch(i));
      for (int i = 0; i < taken; ++i) last = loader.Take().value();
      EXPECT_EQ(loader.requested(), 12u - static_cast<size_t>(taken));
    }
    if (last) last->images()[0] = 1;
  }
}

TEST_F(BatchLoaderTest, WhatWasForgottenIsNotDelivered) {
  const Pictures pictures(part_, Decoder());
  const Transform transform(options_);
  BatchLoader loader(pictures, transform, none_bad_, {.threads = 2, .prefetch = 2});
  for (int repeat = 0; repeat < 20; ++repeat) {
    for (int i = 0; i < 5; ++i) loader.Request(Batch(i));
    EXPECT_TRUE(repeat % 2 == 1 || loader.Take().ok());
    loader.Clear();
    loader.Request({.samples = {30}});
    EXPECT_THAT(loader.Take()->labels(), ElementsAre(130));
  }
}

TEST_F(BatchLoaderTest, NoMoreBatchesAreBegunThanThereIsMemoryFor) {
  // Batches of one picture; the loader may prepare 2 + 1 and no more before one is given back.
  std::latch three(3);
  std::atomic<int> begun{0};
  const Pictures pictures(part_, [&](const std::string& path, Picture& out) {
    if (++begun <= 3) three.count_down();
    return Decode(path, out);
  });
  const Transform transform(options_);
  BatchLoader loader(pictures, transform, none_bad_, {.threads = 4, .prefetch = 2});
  for (uint32_t i = 0; i < 10; ++i) loader.Request({.samples = {i}});
  three.wait();
  EXPECT_EQ(begun, 3);
  { const auto batch = loader.Take(); }
  for (int i = 0; i < 9; ++i) EXPECT_TRUE(loader.Take().ok());
  EXPECT_EQ(begun, 10);
}

TEST_F(BatchLoaderTest, EvaluationTakesTheFixedPart) {
  const Pictures pictures(part_, Decoder());
  const Transform transform(options_);
  BatchLoader loader(pictures, transform, none_bad_, {.threads = 2});
  loader.Request({.epoch = 1, .samples = {4}, .training = false});
  loader.Request({.epoch = 2, .samples = {4}, .training = false});
  loader.Request({.epoch = 2, .samples = {4}});
  auto first = loader.Take().value(), second = loader.Take().value();
  EXPECT_TRUE(std::ranges::equal(first.images(), second.images()));
  first = loader.Take().value();
  EXPECT_FALSE(std::ranges::equal(first.images(), second.images()));
}

TEST_F(BatchLoaderTest, PicturesInMemoryNeedNoDecoder) {
  DataPart part{.labels = {1, 2}, .pixels = {1, 1, 2, {0, 255, 51, 0}}};
  const Pictures pictures(part, nullptr, {.bytes = 1 << 30});
  const Transform transform({.size = 1, .channels = 1});
  BatchLoader loader(pictures, transform, none_bad_, {.threads = 0});
  loader.Request({.samples = {1, 0}});
  auto batch = loader.Take();
  ASSERT_TRUE(batch.ok());
  EXPECT_THAT(batch->labels(), ElementsAre(2, 1));
  EXPECT_THAT(batch->images(), ElementsAre(0.2f, 0.0f));
  EXPECT_EQ(loader.counters().cache_hits, 0u);
}

}  // namespace
}  // namespace interlude
