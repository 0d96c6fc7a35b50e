#include "web/open_metrics.h"

#include <gtest/gtest.h>

#include <limits>

namespace interlude {
namespace {

using Type = OpenMetricsText::Type;

TEST(OpenMetricsTest, AFamilySaysItsTypeUnitAndMeaning) {
  OpenMetricsText out;
  out.Family("up_bytes", Type::kCounter, "bytes", "Sent.");
  out.Sample({{"worker", "3"}, {"phase", "train"}}, 7);
  out.Family("loss", Type::kGauge, "", "Of the round.");
  out.Sample({}, 0.1);
  out.Family("run", Type::kInfo, "", "Which.");
  out.Sample({{"title", "x"}}, 1);
  EXPECT_EQ(std::move(out).Finish(),
            "# TYPE up_bytes counter\n# UNIT up_bytes bytes\n# HELP up_bytes Sent.\n"
            "up_bytes_total{worker=\"3\",phase=\"train\"} 7\n"
            "# TYPE loss gauge\n# HELP loss Of the round.\nloss 0.1\n"
            "# TYPE run info\n# HELP run Which.\nrun_info{title=\"x\"} 1\n# EOF\n");
}

TEST(OpenMetricsTest, LabelsAndMeaningsMayHoldAnything) {
  OpenMetricsText out;
  out.Family("run", Type::kInfo, "", "a\\b\nc\"");
  out.Sample({{"title", "back\\slash \"quoted\"\nnext { } , é"}}, 1);
  EXPECT_EQ(std::move(out).Finish(),
            "# TYPE run info\n# HELP run a\\\\b\\nc\\\"\n"
            "run_info{title=\"back\\\\slash \\\"quoted\\\"\\nnext { } , é\"} 1\n# EOF\n");
}

TEST(OpenMetricsTest, NumbersThatAreNoneHaveTheirWords) {
  OpenMetricsText out;
  out.Family("x", Type::kGauge, "", "");
  out.Sample({{"n", "1"}}, std::numeric_limits<double>::quiet_NaN());
  out.Sample({{"n", "2"}}, std::numeric_limits<double>::infinity());
  out.Sample({{"n", "3"}}, -std::numeric_limits<double>::infinity());
  out.Sample({{"n", "4"}}, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(std::move(out).Finish(),
            "# TYPE x gauge\n# HELP x \nx{n=\"1\"} NaN\nx{n=\"2\"} +Inf\nx{n=\"3\"} -Inf\n"
            "x{n=\"4\"} 18446744073709551615\n# EOF\n");
}

}  // namespace
}  // namespace interlude
