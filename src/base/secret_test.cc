#include "base/secret.h"

#include <gtest/gtest.h>

#include <string>

namespace interlude {
namespace {

TEST(SecretTest, OnlyTheSameBytesAreEqual) {
  const std::string secret = "0123456789abcdef";
  EXPECT_TRUE(EqualInConstantTime(secret, "0123456789abcdef"));
  EXPECT_TRUE(EqualInConstantTime("", ""));
  for (size_t i = 0; i < secret.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = secret;
      other[i] = static_cast<char>(other[i] ^ (1 << bit));
      EXPECT_FALSE(EqualInConstantTime(secret, other)) << i;
    }
  }
}

TEST(SecretTest, AnotherLengthIsNeverEqual) {
  const std::string secret = "abcabcabc";
  EXPECT_FALSE(EqualInConstantTime(secret, ""));
  EXPECT_FALSE(EqualInConstantTime(secret, "abc")) << "though it repeats";
  EXPECT_FALSE(EqualInConstantTime(secret, secret + "a"));
  EXPECT_FALSE(EqualInConstantTime("", secret));
  EXPECT_FALSE(EqualInConstantTime(std::string(1, '\0'), ""));
}

}  // namespace
}  // namespace interlude
