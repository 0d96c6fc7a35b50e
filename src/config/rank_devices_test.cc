#include "config/rank_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace interlude {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RunConfig Config(const std::string& train_device, uint32_t batch = 64 * 7) {
  RunConfig config;
  config.model.kind = ModelKind::kVit;
  config.train.device = train_device;
  config.train.batch = batch;
  return config;
}

std::vector<RankDevices> Deal(std::string_view text, const std::string& train_device,
                              uint32_t workers = 1) {
  const auto dealt = DealDevices(text, Config(train_device), workers);
  EXPECT_TRUE(dealt.ok()) << dealt.status().ToString();
  return dealt.ok() ? *dealt : std::vector<RankDevices>();
}

std::string ErrorOf(std::string_view text, const std::string& train_device = "cpu",
                    uint32_t workers = 1) {
  const auto dealt = DealDevices(text, Config(train_device), workers);
  EXPECT_EQ(dealt.status().code(), StatusCode::kInvalidArgument) << text;
  return dealt.status().message();
}

TEST(DealDevices, ANumberMeansSoManyOfTheRunsDevice) {
  EXPECT_THAT(Deal("2", "cpu"), ElementsAre(ElementsAre("cpu", "cpu")));
  EXPECT_THAT(Deal("1", "cpu_tensors"), ElementsAre(ElementsAre("cpu_tensors")));
  EXPECT_THAT(Deal("2", "cuda"), ElementsAre(ElementsAre("cuda:0", "cuda:1")));
  EXPECT_THAT(Deal("1", "cuda:3"), ElementsAre(ElementsAre("cuda:3")));
  EXPECT_THAT(ErrorOf("2", "cuda:3"), HasSubstr("\"cuda:3\" is one: name them"));
}

TEST(DealDevices, AListIsTakenAsItIsWhateverTheRunsDevice) {
  EXPECT_THAT(Deal("cuda:2,cuda:0", "cpu"), ElementsAre(ElementsAre("cuda:2", "cuda:0")));
  EXPECT_THAT(Deal("cpu,cpu", "cuda"), ElementsAre(ElementsAre("cpu", "cpu")));
  EXPECT_THAT(Deal("cuda", "cpu"), ElementsAre(ElementsAre("cuda")));
}

TEST(DealDevices, SeveralWorkersOfOneMachineGetSoManyEachAndNoneTwice) {
  EXPECT_THAT(Deal("2", "cuda", 2),
              ElementsAre(ElementsAre("cuda:0", "cuda:1"), ElementsAre("cuda:2", "cuda:3")));
  EXPECT_THAT(Deal("1", "cuda", 2), ElementsAre(ElementsAre("cuda:0"), ElementsAre("cuda:1")));
  EXPECT_THAT(Deal("2", "cpu", 2),
              ElementsAre(ElementsAre("cpu", "cpu"), ElementsAre("cpu", "cpu")));
  EXPECT_EQ(Deal("64", "cpu", 1024).size(), 1024u) << "the most of both";
  EXPECT_THAT(ErrorOf("1", "cuda:0", 2), HasSubstr("asks for 2 devices"));
}

TEST(DealDevices, AListIsDealtOutToTheWorkersInItsOrder) {
  EXPECT_THAT(Deal("cuda:3,cuda:1,cuda:0,cuda:2", "cpu", 2),
              ElementsAre(ElementsAre("cuda:3", "cuda:1"), ElementsAre("cuda:0", "cuda:2")));
  EXPECT_THAT(Deal("cpu,cpu", "cuda", 2), ElementsAre(ElementsAre("cpu"), ElementsAre("cpu")));
  EXPECT_THAT(ErrorOf("cpu,cpu,cpu", "cpu", 2), HasSubstr("3 devices cannot be dealt out to 2"));
  EXPECT_THAT(ErrorOf("cuda:0", "cuda", 2), HasSubstr("1 devices cannot be dealt out to 2"));
}

TEST(DealDevices, WhatCannotBeIsRefusedWithTheReason) {
  EXPECT_THAT(ErrorOf("0"), HasSubstr("from 1 to 64"));
  EXPECT_THAT(ErrorOf("65"), HasSubstr("from 1 to 64"));
  EXPECT_THAT(ErrorOf("4294967295", "cpu", 1024), HasSubstr("from 1 to 64"));
  EXPECT_THAT(ErrorOf("4294967297"), HasSubstr("is no device"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("\"\" is no device"));
  EXPECT_THAT(ErrorOf("cpu,"), HasSubstr("\"\" is no device"));
  EXPECT_THAT(ErrorOf("-1"), HasSubstr("\"-1\" is no device"));
  EXPECT_THAT(ErrorOf("cpu,gpu"), HasSubstr("\"gpu\" is no device"));
  EXPECT_THAT(ErrorOf("cpu,cuda:0"), HasSubstr("cpu and cuda:0 cannot train one model"));
  EXPECT_THAT(ErrorOf("cpu,cpu_tensors"), HasSubstr("cannot train one model"));
  RunConfig synthetic = Config("cpu");
  synthetic.model.kind = ModelKind::kSynthetic;
  EXPECT_THAT(DealDevices("2", synthetic, 1).status().message(), HasSubstr("has no device"));
}

TEST(DealDevices, ABatchThatDoesNotDivideIsRefusedWithWhatToDo) {
  for (const char* text : {"1", "2", "4", "20"})
    EXPECT_TRUE(DealDevices(text, Config("cpu", 20), 3).ok()) << text;
  EXPECT_THAT(DealDevices("3", Config("cpu", 20), 1).status().message(),
              HasSubstr("train.batch = 20 cannot be divided among the 3 devices"));
  EXPECT_FALSE(CheckRankBatch(2, 4).ok());
}

}  // namespace
}  // namespace interlude
