#include "train/rank_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace interlude {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ErrorOf(std::string_view text, const std::string& train_device = "cpu") {
  const auto devices = RankDevices(text, train_device);
  EXPECT_EQ(devices.status().code(), StatusCode::kInvalidArgument) << text;
  return devices.status().message();
}

TEST(RankDevices, ANumberMeansSoManyOfTheRunsDevice) {
  EXPECT_THAT(*RankDevices("2", "cpu"), ElementsAre("cpu", "cpu"));
  EXPECT_THAT(*RankDevices("3", "cpu_tensors"),
              ElementsAre("cpu_tensors", "cpu_tensors", "cpu_tensors"));
  EXPECT_THAT(*RankDevices("2", "cuda"), ElementsAre("cuda:0", "cuda:1"));
  EXPECT_THAT(*RankDevices("1", "cuda:3"), ElementsAre("cuda:3"));
  EXPECT_THAT(ErrorOf("2", "cuda:3"), HasSubstr("which is one device: name them"));
}

TEST(RankDevices, AListIsTakenAsItIsWhateverTheRunsDevice) {
  EXPECT_THAT(*RankDevices("cuda:2,cuda:0", "cpu"), ElementsAre("cuda:2", "cuda:0"));
  EXPECT_THAT(*RankDevices("cpu,cpu", "cuda"), ElementsAre("cpu", "cpu"));
  EXPECT_THAT(*RankDevices("cuda", "cpu"), ElementsAre("cuda"));
}

TEST(RankDevices, WhatCannotBeIsRefusedWithTheReason) {
  EXPECT_THAT(ErrorOf("0"), HasSubstr("from 1 to 64"));
  EXPECT_THAT(ErrorOf("65"), HasSubstr("from 1 to 64"));
  EXPECT_THAT(ErrorOf("4294967297"), HasSubstr("is no device"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("\"\" is no device"));
  EXPECT_THAT(ErrorOf("cpu,"), HasSubstr("\"\" is no device"));
  EXPECT_THAT(ErrorOf("-1"), HasSubstr("\"-1\" is no device"));
  EXPECT_THAT(ErrorOf("cpu,gpu"), HasSubstr("\"gpu\" is no device"));
  EXPECT_THAT(ErrorOf("cpu,cuda:0"), HasSubstr("cpu and cuda:0 cannot train one model"));
  EXPECT_THAT(ErrorOf("cpu,cpu_tensors"), HasSubstr("cannot train one model"));
}

TEST(RankDevices, ABatchThatDoesNotDivideIsRefusedWithWhatToDo) {
  for (const uint32_t ranks : {1u, 2u, 4u, 20u}) EXPECT_TRUE(CheckRankBatch(20, ranks).ok());
  const Status refused = CheckRankBatch(20, 3);
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("train.batch = 20 cannot be divided among the 3"));
  EXPECT_FALSE(CheckRankBatch(2, 4).ok());
}

}  // namespace
}  // namespace interlude
