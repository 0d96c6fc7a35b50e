#include "web/fresh_text.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <thread>
#include <vector>

namespace interlude {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// What a test and the text's owner both see of a source.
struct Script {
  StatusOr<int64_t> version = int64_t{1};
  StatusOr<std::string> text = std::string("a");
  std::function<void()> on_make = [] {};
  std::atomic<int> made = 0;
  std::atomic<bool> gone = false;
};

class ScriptedSource final : public TextSource {
 public:
  explicit ScriptedSource(Script& script) : script_(script) {}
  ~ScriptedSource() override { script_.gone = true; }
  StatusOr<int64_t> Version() override { return script_.version; }
  StatusOr<std::string> Make() override {
    ++script_.made;
    script_.on_make();
    return script_.text;
  }

 private:
  Script& script_;
};

class FreshTextTest : public testing::Test {
 protected:
  FreshTextTest() { text_.SetSource(std::make_unique<ScriptedSource>(script_)); }
  std::string Text() { return text_.Get().value()->text; }
  void Become(const std::string& text) {
    script_.text = text;
    script_.version = *script_.version + 1;
  }

  ManualClock clock_{seconds(100)};
  Script script_;
  FreshText text_{clock_};
};

TEST_F(FreshTextTest, IsMadeAgainWhenTheVersionChangesAndAPauseHasPassed) {
  EXPECT_EQ(Text(), "a");
  Become("b");
  EXPECT_EQ(Text(), "a") << "too soon";
  clock_.Advance(milliseconds(999));
  EXPECT_EQ(Text(), "a") << "too soon";
  clock_.Advance(milliseconds(1));
  EXPECT_EQ(Text(), "b");
  EXPECT_EQ(script_.made, 2);
}

TEST_F(FreshTextTest, IsNotMadeAgainWhileTheVersionStays) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(Text(), "a");
    clock_.Advance(seconds(10));
  }
  EXPECT_EQ(script_.made, 1);
  Become("b");
  EXPECT_EQ(Text(), "b") << "at once: the pause is long over";
}

TEST_F(FreshTextTest, MakingTakesATenthOfTheTimeAtMost) {
  script_.on_make = [this] { clock_.Advance(seconds(2)); };
  const Nanoseconds begin = clock_.Now();
  while (clock_.Now() < begin + seconds(1000)) {
    Become("b");
    Text();
    clock_.Advance(milliseconds(100));
  }
  EXPECT_LE(script_.made * 2, 102);
  EXPECT_GE(script_.made * 2, 90) << "and it is made when it may be";
}

TEST_F(FreshTextTest, WhatChangesWhileItIsMadeIsInTheNextOne) {
  script_.on_make = [this] { script_.version = *script_.version + 1; };
  EXPECT_EQ(Text(), "a");
  script_.on_make = [] {};
  clock_.Advance(seconds(1));
  Text();
  EXPECT_EQ(script_.made, 2);
}

TEST_F(FreshTextTest, TagsTellTextsApart) {
  const std::string tag = text_.Get().value()->tag;
  EXPECT_EQ(tag.size(), 34u);
  EXPECT_EQ(tag.front(), '"');
  Become("b");
  clock_.Advance(seconds(1));
  EXPECT_NE(text_.Get().value()->tag, tag);
  Become("a");
  clock_.Advance(seconds(1));
  EXPECT_EQ(text_.Get().value()->tag, tag);
}

TEST_F(FreshTextTest, AnErrorIsSaidAndTriedAgainAfterAPause) {
  script_.text = DataLossError("damaged");
  EXPECT_EQ(text_.Get().status().code(), StatusCode::kDataLoss);
  script_.text = std::string("mended");
  EXPECT_EQ(text_.Get().status().code(), StatusCode::kDataLoss) << "too soon";
  clock_.Advance(seconds(1));
  EXPECT_EQ(Text(), "mended") << "although the version is the same";
  script_.version = NotFoundError("gone");
  clock_.Advance(seconds(1));
  EXPECT_EQ(text_.Get().status().code(), StatusCode::kNotFound);
}

TEST_F(FreshTextTest, AnExceptionIsAnErrorAndNobodyWaitsForever) {
  script_.on_make = [] { throw std::bad_alloc(); };
  EXPECT_EQ(text_.Get().status().code(), StatusCode::kInternal);
  text_.SetSource(nullptr);
  EXPECT_TRUE(script_.gone);
}

TEST_F(FreshTextTest, WithoutASourceThereIsNoText) {
  EXPECT_EQ(Text(), "a");
  text_.SetSource(nullptr);
  EXPECT_TRUE(script_.gone);
  EXPECT_EQ(text_.Get().status().code(), StatusCode::kUnavailable);
  Script next;
  next.text = std::string("next");
  text_.SetSource(std::make_unique<ScriptedSource>(next));
  EXPECT_EQ(Text(), "next") << "without a pause: it is another text";
}

TEST_F(FreshTextTest, WhoAsksWhileItIsMadeGetsTheOneBefore) {
  EXPECT_EQ(Text(), "a");
  Become("b");
  clock_.Advance(seconds(1));
  std::latch begun(1), asked(1);
  script_.on_make = [&] {
    begun.count_down();
    asked.wait();
  };
  std::thread maker([&] { EXPECT_EQ(Text(), "b"); });
  begun.wait();
  EXPECT_EQ(Text(), "a");
  asked.count_down();
  maker.join();
  EXPECT_EQ(Text(), "b");
}

TEST_F(FreshTextTest, ManyWhoAskAtOnceMakeItOnce) {
  std::vector<std::thread> readers;
  for (int i = 0; i < 16; ++i) readers.emplace_back([this] { EXPECT_EQ(Text(), "a"); });
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(script_.made, 1);
}

TEST_F(FreshTextTest, ASourceGoesWhenItIsNoLongerUsed) {
  std::latch begun(1);
  std::atomic<bool> done = false;
  script_.on_make = [&] {
    begun.count_down();
    std::this_thread::yield();
    done = true;
  };
  std::thread maker([&] { Text(); });
  begun.wait();
  text_.SetSource(nullptr);
  EXPECT_TRUE(done);
  EXPECT_TRUE(script_.gone);
  maker.join();
}

}  // namespace
}  // namespace interlude
