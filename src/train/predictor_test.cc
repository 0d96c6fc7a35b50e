// Predictions of files against evaluations of the same pictures, which come to them another way.
#include "train/predictor.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "images/data_set.h"
#include "images/test_folder.h"
#include "images/test_pictures.h"
#include "model/model_parameters.h"
#include "train/first_parameters.h"
#include "train/models.h"
#include "train/trainer_factory.h"

namespace interlude {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A model of random parameters on files of two classes, all of them in the test part but one each.
class PredictorTest : public ::testing::Test {
 protected:
  PredictorTest() {
    for (int i = 0; i < 12; ++i) {
      const int side = 20 + 3 * i;
      folder_.Write(fmt::format("colored/{}.jpg", i),
                    PictureFile(PictureKind::kColor, side, 44, ".jpg", i % 8 + 1));
      folder_.Write(fmt::format("gray/{}.png", i),
                    PictureFile(PictureKind::kGray, 30, side, ".png"));
    }
    config_.data.name = "folder";
    config_.data.directory = folder_.path();
    config_.data.test_share = 0.9;
    config_.model.image_size = 16;
    config_.model.channels = 3;
    config_.model.patch_size = 8;
    config_.model.hidden_size = 16;
    config_.model.layers = 1;
    config_.model.heads = 2;
    config_.model.mlp_size = 24;
    config_.model.classes = 2;
    config_.train.batch = 1;
  }

  std::unique_ptr<LocalTrainer> Trainer() { return CreateTorchTrainer(config_, 0, 1, 1).value(); }

  static std::unique_ptr<Predictor> PredictorOf(const RunConfig& config, LocalTrainer& trainer) {
    auto predictor = CreateTorchPredictor(config, trainer.data_facts(), 2).value();
    EXPECT_TRUE(predictor->SetParameters(0, trainer.parameters()).ok());
    return predictor;
  }

  static std::vector<FilePrediction> Predict(Predictor& predictor,
                                             const std::vector<std::string>& files,
                                             const PredictOptions& options = {}) {
    std::vector<FilePrediction> all;
    const Status status = predictor.Predict(files, options, [&](const FilePrediction& one) {
      all.push_back(one);
      return OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status.ToString();
    return all;
  }

  TestFolder folder_;
  RunConfig config_;
};

TEST_F(PredictorTest, SaysOfTheTestFilesWhatAnEvaluationSays) {
  for (const uint32_t channels : {1u, 3u}) {
    for (const char* device : {"cpu", "cpu_tensors"}) {
      config_.model.channels = channels;
      const auto trainer = Trainer();  // a trainer of cpu_tensors keeps its parameters to itself
      config_.train.device = device;
      const auto predictor = PredictorOf(config_, *trainer);
      config_.train.device = "cpu";
      const DataSet set = LoadDataSet(config_.data).value();
      const auto predictions = Predict(*predictor, set.test.files, {.batch = 5});
      ASSERT_EQ(predictions.size(), set.test.size());
      uint64_t correct = 0;
      double loss = 0;
      for (size_t i = 0; i < predictions.size(); ++i) {
        ASSERT_TRUE(predictions[i].status.ok());
        EXPECT_EQ(predictions[i].file, set.test.files[i]);
        correct += predictions[i].top[0].label == set.test.labels[i];
        for (const ClassProbability& one : predictions[i].top) {
          if (one.label == set.test.labels[i]) loss -= std::log(one.probability);
        }
      }
      const auto evaluation = trainer->Evaluate(0, 1).value();
      EXPECT_EQ(evaluation.samples, predictions.size());
      EXPECT_EQ(evaluation.correct, correct);
      EXPECT_NEAR(evaluation.loss_sum, loss, 1e-4);
    }
  }
}

TEST_F(PredictorTest, AFileThatCannotBeReadChangesNothingForTheOthers) {
  const auto trainer = Trainer();
  const auto predictor = PredictorOf(config_, *trainer);
  const std::string good = folder_ / "gray/1.png", other = folder_ / "colored/2.jpg";
  const std::string bad = folder_.Write("gray/1.jpg", "no picture");
  const auto alone = Predict(*predictor, {good, other}, {.top = 1});
  const auto mixed = Predict(*predictor, {good, folder_ / "absent", bad, other}, {.top = 1});
  ASSERT_EQ(mixed.size(), 4u);
  EXPECT_EQ(mixed[0].top.size(), 1u);
  EXPECT_EQ(mixed[0].top[0].label, alone[0].top[0].label);
  EXPECT_NEAR(mixed[0].top[0].probability, alone[0].top[0].probability, 1e-6);
  EXPECT_NEAR(mixed[3].top[0].probability, alone[1].top[0].probability, 1e-6);
  EXPECT_THAT(mixed[1].status.message(), HasSubstr(folder_ / "absent"));
  EXPECT_THAT(mixed[2].status.message(), AllOf(StartsWith(bad), HasSubstr("not a JPEG")));
  EXPECT_TRUE(mixed[1].top.empty());
}

TEST_F(PredictorTest, WhoTakesThePredictionsMayEndIt) {
  const auto trainer = Trainer();
  const auto predictor = PredictorOf(config_, *trainer);
  int taken = 0;
  const Status status = predictor->Predict(
      std::vector<std::string>(9, folder_ / "gray/1.png"), {.batch = 2},
      [&](const FilePrediction&) {
        return ++taken == 3 ? ResourceExhaustedError("the disk is full") : OkStatus();
      });
  EXPECT_EQ(status.message(), "the disk is full");
  EXPECT_EQ(taken, 3);
}

TEST_F(PredictorTest, ParametersThatAreNoNumbersAreNamed) {
  const auto trainer = Trainer();
  auto predictor = CreateTorchPredictor(config_, trainer->data_facts(), 1).value();
  std::vector<float> values(predictor->layout().total_params(), 0.1f);
  const ParameterSpec& last = predictor->layout().parameters().back();
  values[last.offset + 1] = NAN;
  const Status status = predictor->SetParameters(0, values);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr(last.name + "[1] is nan"));
}

TEST_F(PredictorTest, AnswersThatAreNoNumbersAreNamedWithTheFile) {
  const auto trainer = Trainer();
  auto predictor = CreateTorchPredictor(config_, trainer->data_facts(), 1).value();
  const std::vector<float> values(predictor->layout().total_params(), 1e30f);
  ASSERT_TRUE(predictor->SetParameters(0, values).ok());
  const Status status = predictor->Predict({folder_ / "gray/1.png"}, {},
                                           [](const FilePrediction&) { return OkStatus(); });
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("gray/1.png"), HasSubstr("class")));
}

TEST_F(PredictorTest, AModelThatDoesNotFitWhatIsToldOfTheDataIsRefused) {
  const DataFacts data = Trainer()->data_facts();
  const auto refused = [&](const RunConfig& config, const DataFacts& facts) {
    return CreateTorchPredictor(config, facts, 1).status().message();
  };
  EXPECT_THAT(refused(config_, {.classes = {"a"}}), HasSubstr("1 classes are named"));
  EXPECT_THAT(refused(config_, {.classes = data.classes}), HasSubstr("normalised"));
  EXPECT_THAT(refused(config_, {.mean = {0.5f}, .deviation = {1.0f}}), HasSubstr("1 channels"));
  RunConfig config = config_;
  config.model.channels = 4;
  EXPECT_THAT(refused(config, {}), HasSubstr("model.channels = 4"));
  config = config_;
  config.augment.normalize = NormalizeKind::kImageNet;
  EXPECT_TRUE(CreateTorchPredictor(config, {}, 1).ok()) << "the description tells it";
}

/// Pictures of exactly the model's size, through LibTorch's own functions.
TEST_F(PredictorTest, IsTheSoftmaxOfTheModelsLogits) {
  config_.augment.eval_crop = 1;
  config_.model.classes = 7;
  DataFacts data{.mean = {0.1f, 0.2f, 0.3f}, .deviation = {0.5f, 0.6f, 0.7f}};
  FlatParameters parameters(ModelLayout(config_).value());
  ASSERT_TRUE(FillFirstParameters(config_, parameters).ok());
  auto predictor = CreateTorchPredictor(config_, data, 1).value();
  ASSERT_TRUE(predictor->SetParameters(0, parameters.span()).ok());
  const auto said =
      Predict(*predictor, {folder_.Write("x", PictureFile(PictureKind::kColor, 16, 16, ".png"))},
              {.top = 10});
  const at::Tensor left = at::tensor(at::ArrayRef<float>({200, 40, 40})).view({1, 3, 1, 1});
  const at::Tensor right = at::tensor(at::ArrayRef<float>({40, 40, 200})).view({1, 3, 1, 1});
  at::Tensor image = at::cat({left.expand({1, 3, 16, 8}), right.expand({1, 3, 16, 8})}, 3) / 255;
  image = (image - at::tensor(at::ArrayRef<float>(data.mean)).view({3, 1, 1})) /
          at::tensor(at::ArrayRef<float>(data.deviation)).view({3, 1, 1});
  const auto [values, labels] =
      CreateModel(config_.model, parameters)->Forward(image).softmax(1).sort(1, true);
  ASSERT_EQ(said[0].top.size(), 7u);
  for (int64_t i = 0; i < 7; ++i) {
    const ClassProbability& one = said[0].top[static_cast<size_t>(i)];
    EXPECT_EQ(one.label, labels[0][i].item<int64_t>());
    EXPECT_NEAR(one.probability, values[0][i].item<float>(), 1e-6);
  }
}

}  // namespace
}  // namespace interlude
