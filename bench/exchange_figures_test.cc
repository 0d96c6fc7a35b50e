#include "bench/exchange_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace interlude {
namespace {

using testing::HasSubstr;

ModeFigures Mode(const std::string& name, double exchange) {
  ModeFigures mode{.mode = name};
  for (const uint32_t number : {1u, 2u, 3u}) {
    ExchangeRound round{.round = number, .end_ns = number * 100};
    round.exchange_seconds = {{0, number == 1 ? 50 * exchange : exchange}, {1, exchange / 2}};
    round.merge_to_sync_seconds = 0.01 * exchange;
    round.upload_bytes = {{0, 13'281}, {1, 13'281}};
    round.download_bytes = {{0, 13'281}, {1, 13'281}};
    mode.summary.rounds.push_back(round);
  }
  mode.memory.push_back({.name = "coordinator",
                         .samples = {{50, 0}, {150, 320'000}, {250, 320'000}, {290, 330'000}},
                         .peak_anonymous = 330'000,
                         .peak_resident = 400'000});
  mode.coordinator_before = 1'000;
  mode.coordinator_after = 2'000;
  return mode;
}

/// 25,000 parameters are 100,000 bytes.
ExchangeFigures Figures() {
  ExchangeFigures figures;
  figures.config.model.synthetic_params = 25'000;
  figures.config.round.rounds = 3;
  figures.workers = 2;
  figures.memory_before.copy = 1e9;
  figures.memory_after.copy = 3e9;
  figures.tcp_loopback = 1e9;
  figures.modes = {Mode(kPipelinedMode, 0.004), Mode(kBarrierSaveMode, 0.030)};
  return figures;
}

std::string BarText(const std::vector<Bar>& bars, const std::string& what) {
  for (const Bar& bar : bars) {
    if (bar.what.find(what) != std::string::npos) return bar.ToString();
  }
  return "no such bar";
}

TEST(ExchangeFigures, StandAgainstTheirBars) {
  const ExchangeFigures figures = Figures();
  const double bound =
      static_cast<double>(SumOf(ExchangeBytes(figures.config, 2))) / 3e9;  // the faster of 1 and 3
  EXPECT_DOUBLE_EQ(figures.bound_seconds(), bound);
  const auto bars = ExchangeBars(figures);
  ASSERT_FALSE(bars.empty());
  EXPECT_DOUBLE_EQ(bars.front().value, 0.004 / bound) << "the warm-up is left out";
  EXPECT_THAT(BarText(bars, "save every round"), HasSubstr("7.5 x the pipelined exchange (the bar: "
                                                           "at least 5, met)"));
  EXPECT_THAT(BarText(bars, "first sync"), HasSubstr("0.01 of the exchange"));
  EXPECT_THAT(BarText(bars, "peak anonymous"),
              HasSubstr("3.3 of the fp32 model (the bar: at most 3.3, met)"));
  EXPECT_THAT(BarText(bars, "growth"), HasSubstr("0.1 of the fp32 model (the bar: at most 0.02, "
                                                 "not met)"));
  EXPECT_THAT(BarText(bars, "after the run"), HasSubstr("0.02 of"));
  EXPECT_THAT(BarText(bars, "both directions"), HasSubstr("0.266 of"));
}

TEST(ExchangeFigures, WithoutAComparisonRunHaveNoBarForIt) {
  ExchangeFigures figures = Figures();
  figures.modes.pop_back();
  EXPECT_EQ(BarText(ExchangeBars(figures), "save every round"), "no such bar");
  figures.modes.clear();
  EXPECT_TRUE(ExchangeBars(figures).empty());
}

TEST(ExchangeFigures, AsTextAndJsonSayTheSame) {
  const ExchangeFigures figures = Figures();
  const std::string text = FormatExchangeText(figures);
  EXPECT_THAT(text, HasSubstr("25,000 parameters"));
  EXPECT_THAT(text, HasSubstr("round 1 (warm-up): exchange 200 ms"));
  EXPECT_THAT(text, HasSubstr("whole exchange: " + ExchangeBars(figures).front().ToString()));
  const auto json = nlohmann::json::parse(FormatExchangeJson(figures));
  EXPECT_EQ(json["params"], 25'000);
  EXPECT_DOUBLE_EQ(json["bound_seconds"], figures.bound_seconds());
  EXPECT_DOUBLE_EQ(json["modes"][0]["exchange_seconds"], 0.004);
  EXPECT_EQ(json["modes"][0]["rounds"].size(), 3u);
  EXPECT_EQ(json["modes"][0]["memory"][0]["anonymous_bytes_at_round_ends"],
            (std::vector<int>{0, 320'000, 330'000}));
  EXPECT_EQ(json["bars"].size(), ExchangeBars(figures).size());
}

TEST(ParseCount, TakesPowersOfTen) {
  EXPECT_EQ(*ParseCount("632M"), 632'000'000u);
  EXPECT_EQ(*ParseCount("1.5G"), 1'500'000'000u);
  EXPECT_EQ(*ParseCount("200K"), 200'000u);
  EXPECT_EQ(*ParseCount("12345"), 12'345u);
}

TEST(ParseCount, RefusesWhatIsNoCount) {
  for (const char* text :
       {"", "M", "0", "-5M", "1.5", "86MB", "86 M", "1e9", "nan", "inf", "1000000G"}) {
    const auto count = ParseCount(text);
    EXPECT_EQ(count.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(count.status().message()), HasSubstr("such as 86M")) << text;
  }
}

}  // namespace
}  // namespace interlude
