// What becomes of workers that count other pictures of the same classes; over real gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "coordinator/service_test_support.h"
#include "ledger/run_database.h"

namespace interlude {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using Records = std::vector<ClassCountsRecord>;

class ClassCountsTest : public testing::Test {
 protected:
  void Prepare(const std::string& name, SharingKind sharing) {
    options_ = TestOptions(name, 2);
    options_.config.data.sharing = sharing;
    Start();
  }
  void Start() {
    coordinator_ = Coordinator::Start(options_, SystemClock(), nullptr).value();
    connection_.emplace(coordinator_->address());
  }
  ~ClassCountsTest() override { coordinator_->Stop("the test is over"); }

  static void JoinWith(TestSession& session, const ClassCounts& counts) {
    BaseOfferMessage message{.layout = TestLayout()};
    message.chunk_hashes.resize(TestLayout().num_chunks());
    message.data = {.classes = {"cat", "dog"}, .mean = {}, .deviation = {}, .counts = counts};
    session.Join();
    session.Say(message);
  }
  static void Leave(TestSession& session) {
    session.Say(LeaveMessage{});
    session.Expect<GoodbyeMessage>();
    session.Cancel();
  }
  /// Both are in the first round.
  static void BeginRounds(TestSession& first, TestSession& second) {
    first.Expect<ProvideBaseMessage>();
    const std::vector<float> base(TestLayout().total_params(), 0.5f);
    EXPECT_TRUE(first.UploadBase(base).ok());
    for (TestSession* session : {&first, &second}) {
      session->Expect<CatchUpMessage>();
      session->Expect<StartRoundMessage>();
    }
  }

  std::unique_ptr<RunDatabase> Database() const {
    return RunDatabase::OpenReadOnly(options_.directory + "/run.db").value();
  }
  Records Stored() const { return Database()->ClassCounts().value(); }
  std::vector<std::string> Changes() const {
    std::vector<std::string> texts;
    const auto events = Database()->Events().value();
    for (const EventRecord& event : events)
      if (event.kind == "data_changed") texts.push_back(event.text);
    return texts;
  }

  const ClassCounts few_{{5, 0}, {1, 2}};
  const ClassCounts many_{{5, 7}, {1, 2}};
  CoordinatorOptions options_;
  std::unique_ptr<Coordinator> coordinator_;
  std::optional<TestConnection> connection_;
};

TEST_F(ClassCountsTest, AWorkerWithAnotherDataSetThanTheOneThatIsSplitIsRefused) {
  Prepare("counts-split", SharingKind::kSplit);
  TestSession first(*connection_), other(*connection_), second(*connection_);
  JoinWith(first, many_);
  JoinWith(other, few_);
  EXPECT_THAT(other.Expect<GoodbyeMessage>().reason,
              HasSubstr("worker 1's data differ: 0 training pictures of class \"dog\", the run's "
                        "data set has 7; give all workers the same data set"));
  JoinWith(second, many_);
  first.Expect<ProvideBaseMessage>();
  EXPECT_EQ(Stored(), (Records{{.worker = kNoWorker, .counts = many_}}));
  EXPECT_THAT(Changes(), IsEmpty());
}

TEST_F(ClassCountsTest, ACoordinatorThatComesBackKnowsWhatTheDataSetCounts) {
  Prepare("counts-restart", SharingKind::kSplit);
  {
    TestSession first(*connection_), second(*connection_);
    JoinWith(first, many_);
    JoinWith(second, many_);
    BeginRounds(first, second);
    Leave(second);
    coordinator_->Stop("as if it was killed");
    first.Expect<GoodbyeMessage>();
    first.Cancel();
  }
  EXPECT_FALSE(coordinator_->Wait().ok());
  coordinator_.reset();

  Start();
  TestSession other(*connection_), same(*connection_);
  JoinWith(other, few_);
  EXPECT_THAT(other.Expect<GoodbyeMessage>().reason, HasSubstr("the run's data set has 7"));
  JoinWith(same, many_);
  same.Expect<CatchUpMessage>();
  EXPECT_EQ(Stored(), (Records{{.worker = kNoWorker, .counts = many_}}));
}

TEST_F(ClassCountsTest, WorkersWithDataOfTheirOwnAreCountedEachByItself) {
  Prepare("counts-local", SharingKind::kLocal);
  TestSession first(*connection_), second(*connection_);
  JoinWith(first, many_);
  JoinWith(second, few_);
  BeginRounds(first, second);
  EXPECT_EQ(Stored(), (Records{{.worker = 0, .counts = many_}, {.worker = 1, .counts = few_}}));
  Leave(second);
  TestSession again(*connection_);
  JoinWith(again, few_);
  again.Expect<CatchUpMessage>();
  EXPECT_THAT(Changes(), IsEmpty());
  Leave(again);
  TestSession changed(*connection_);
  JoinWith(changed, many_);
  changed.Expect<CatchUpMessage>();
  EXPECT_EQ(Stored(), (Records{{.worker = 0, .counts = many_}, {.worker = 1, .counts = many_}}));
  EXPECT_THAT(Changes(), testing::ElementsAre("12 training and 3 test pictures, before 5 and 3"));
}

}  // namespace
}  // namespace interlude
