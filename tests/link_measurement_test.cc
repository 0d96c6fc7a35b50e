// The way to a coordinator as `interlude doctor` measures it: both real ends, over loopback.
#include "worker/link_measurement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/key_files.h"
#include "cli/key_making.h"
#include "coordinator/call_limits.h"
#include "tests/cluster.h"

namespace interlude {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class LinkMeasurement : public testing::Test {
 protected:
  ~LinkMeasurement() override {
    if (coordinator_ != nullptr) coordinator_->Stop("the test is over");
  }
  void Start(std::optional<TransportKeys> keys = std::nullopt) {
    CoordinatorOptions options;
    options.config = SyntheticConfig();
    options.directory = FreshDirectory("link");
    options.threads = 1;
    options.keys = std::move(keys);
    coordinator_ = Coordinator::Start(options, SystemClock(), nullptr).value();
  }
  StatusOr<LinkFigures> Measure(std::optional<TransportKeys> keys = std::nullopt,
                                const LinkPlan& plan = kSmall) const {
    WorkerOptions options;
    options.coordinator = coordinator_->address();
    options.keys = std::move(keys);
    return MeasureLink(options, plan, SystemClock());
  }

  static constexpr LinkPlan kSmall = {.round_trips = 10, .most_bytes_each_way = 4 << 20};
  std::unique_ptr<Coordinator> coordinator_;
};

TEST_F(LinkMeasurement, FindsRoundTripsAndBothRates) {
  Start();
  const auto figures = Measure();
  ASSERT_TRUE(figures.ok()) << figures.status().ToString();
  EXPECT_EQ(figures->cut_short, "");
  EXPECT_THAT(figures->round_trip_s, SizeIs(testing::Ge(5u)));
  EXPECT_TRUE(std::ranges::is_sorted(figures->round_trip_s));
  EXPECT_GT(figures->round_trip_s.front(), 0);
  EXPECT_GT(figures->upload_bytes_per_s.value_or(0), 0);
  EXPECT_GT(figures->download_bytes_per_s.value_or(0), 0);
  EXPECT_LE(std::abs(figures->wall_offset_s), figures->round_trip_s.front())
      << "both ends read the same clock";
}

TEST_F(LinkMeasurement, TheUsualPlanIsWithinWhatTheCoordinatorAllows) {
  const LinkPlan plan;
  EXPECT_LT(2 * plan.most_bytes_each_way, kMostLinkBytes);
  EXPECT_LT(2 * plan.most_bytes_each_way / plan.piece_bytes + plan.round_trips + 1,
            kMostLinkRequests);
  EXPECT_LE(plan.piece_bytes, kMostLinkPieceBytes);
  EXPECT_LT(plan.call_within, kLinkMeasurementWithin);
}

TEST_F(LinkMeasurement, AsksForTooMuchAndKeepsWhatWasMeasuredBefore) {
  Start();
  LinkPlan greedy;
  greedy.most_bytes_each_way = uint64_t{1} << 40;
  greedy.each_way_within = std::chrono::hours(1);
  greedy.call_within = std::chrono::minutes(1);
  const auto figures = Measure({}, greedy);
  ASSERT_TRUE(figures.ok()) << figures.status().ToString();
  EXPECT_THAT(figures->cut_short, HasSubstr("the limits are"));
  EXPECT_TRUE(figures->upload_bytes_per_s.has_value());
  EXPECT_FALSE(figures->download_bytes_per_s.has_value());
}

TEST_F(LinkMeasurement, TimeOverIsToldWithWhatWasMeasured) {
  Start();
  LinkPlan plan = kSmall;
  plan.round_trips = SIZE_MAX;
  plan.round_trips_within = std::chrono::hours(1);
  plan.call_within = std::chrono::milliseconds(300);
  const auto figures = Measure({}, plan);
  ASSERT_TRUE(figures.ok()) << figures.status().ToString();
  EXPECT_NE(figures->cut_short, "");
  EXPECT_FALSE(figures->round_trip_s.empty());
  EXPECT_FALSE(figures->upload_bytes_per_s.has_value());
}

TEST_F(LinkMeasurement, NobodyThereIsUnavailable) {
  WorkerOptions options;
  options.coordinator = "127.0.0.1:1";
  options.connect_timeout = std::chrono::milliseconds(300);
  EXPECT_EQ(MeasureLink(options, kSmall, SystemClock()).status().code(), StatusCode::kUnavailable);
}

TEST_F(LinkMeasurement, ToAnotherMachineWithoutKeysItIsRefusedBeforeAnythingIsSent) {
  WorkerOptions options;
  options.coordinator = "coordinator.example:7070";
  EXPECT_EQ(MeasureLink(options, kSmall, SystemClock()).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_F(LinkMeasurement, NeedsTheTokenAndAWorkersCertificateAsEveryCallDoes) {
  const std::string keys = FreshDirectory("link-keys");
  const int64_t now = SecondsSinceEpoch();
  ASSERT_TRUE(MakeKeys({.directory = keys, .workers = 1, .validity = {now - 60, now + 3600}}).ok());
  Start(LoadCoordinatorKeys(keys, /*require_worker_certificates=*/true, now).value());
  const TransportKeys worker = LoadWorkerKeys(keys, 0, now).value();
  EXPECT_TRUE(Measure(worker).ok());

  TransportKeys wrong_token = worker;
  wrong_token.join_token.front() = wrong_token.join_token.front() == '0' ? '1' : '0';
  EXPECT_EQ(Measure(wrong_token).status().code(), StatusCode::kUnauthenticated);
}

}  // namespace
}  // namespace interlude
