#include "coordinator/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace interlude {
namespace {

using testing::HasSubstr;

TEST(IdentityTest, AWorkerGetsTheIdOfItsCertificateWhetherItAsksOrNot) {
  JoinMessage join;
  ASSERT_TRUE(BindToCertificate("worker-12", join).ok());
  EXPECT_EQ(join.requested_worker, 12);
  ASSERT_TRUE(BindToCertificate("worker-12", join).ok()) << "asked for";
  EXPECT_EQ(join.requested_worker, 12);
}

TEST(IdentityTest, AnotherIdIsRefused) {
  JoinMessage join{.requested_worker = 0};
  const Status status = BindToCertificate("worker-3", join);
  EXPECT_EQ(status.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(status.message(), HasSubstr("worker id 0"));
  EXPECT_THAT(status.message(), HasSubstr("worker-3"));
}

TEST(IdentityTest, ANameThatIsNoWorkersIsRefused) {
  for (const char* name :
       {"", "coordinator", "worker-", "worker-x", "worker--1", "worker-01", "worker- 1",
        "worker-1 ", "worker-+1", "Worker-1", "xworker-1", "worker-1/x", "worker-99999999999"}) {
    JoinMessage join;
    EXPECT_EQ(BindToCertificate(name, join).code(), StatusCode::kPermissionDenied) << name;
    EXPECT_FALSE(join.requested_worker.has_value()) << name;
  }
}

}  // namespace
}  // namespace interlude
