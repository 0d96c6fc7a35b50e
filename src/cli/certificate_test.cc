#include "cli/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace interlude {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kNow = 1'900'000'000;
constexpr Validity kDays = {kNow - 3600, kNow + 10 * 86'400};

CertifiedKey MadeBy(const CertifiedKey& authority, const std::vector<std::string>& hosts = {}) {
  return MakeCertificate(authority, "coordinator", CertificateUse::kServing, hosts, kDays).value();
}

class CertificateTest : public testing::Test {
 protected:
  const CertifiedKey authority_ = MakeAuthority("a test's CA", kDays).value();
};

TEST_F(CertificateTest, ACertificateSaysWhatItWasMadeFor) {
  const CertifiedKey pair = MadeBy(authority_, {"box.example", "10.0.0.5", "::1", "localhost"});
  const CertificateFacts facts = ReadCertificate(pair.certificate_pem).value();
  EXPECT_EQ(facts.subject, "coordinator");
  EXPECT_THAT(facts.hosts, ElementsAre("box.example", "10.0.0.5", "::1", "localhost"));
  EXPECT_EQ(facts.validity.from, kDays.from);
  EXPECT_EQ(facts.validity.until, kDays.until);
  EXPECT_EQ(facts.fingerprint.size(), 32 * 3 - 1u);
  EXPECT_TRUE(CheckCertificate(pair, kNow).ok());
  EXPECT_EQ(ReadCertificate(authority_.certificate_pem)->subject, "a test's CA");
}

TEST_F(CertificateTest, NoTwoAreTheSame) {
  const CertifiedKey one = MadeBy(authority_);
  const CertifiedKey two = MadeBy(authority_);
  EXPECT_NE(one.key_pem, two.key_pem);
  EXPECT_NE(ReadCertificate(one.certificate_pem)->fingerprint,
            ReadCertificate(two.certificate_pem)->fingerprint);
  EXPECT_EQ(CheckCertificate({one.certificate_pem, two.key_pem}, kNow).code(),
            StatusCode::kFailedPrecondition)
      << "another's key";
}

TEST_F(CertificateTest, OutsideItsDaysItIsRefusedWithTheDay) {
  const CertifiedKey pair = MadeBy(authority_);
  const Status over = CheckCertificate(pair, kDays.until + 1);
  EXPECT_THAT(over.message(), HasSubstr("was valid until 2030-03-27"));
  const Status early = CheckCertificate(pair, kDays.from - 1);
  EXPECT_THAT(early.message(), HasSubstr("is the clock right?"));
}

TEST_F(CertificateTest, AHostThatIsNoneIsNamedAndNothingOfItBecomesAnExtension) {
  for (const char* wrong :
       {"a,DNS:b", "a b", "10.0.0.5:7070", "[::1]", "", "a\nb", "DNS:a", "*.b"}) {
    const auto made = MakeCertificate(authority_, "coordinator", CertificateUse::kServing,
                                      {"good.example", wrong}, kDays);
    EXPECT_EQ(made.status().code(), StatusCode::kInvalidArgument) << wrong;
  }
}

TEST_F(CertificateTest, TextThatIsNoCertificateOrKeyIsRefused) {
  const CertifiedKey pair = MadeBy(authority_);
  for (size_t length = 0; length + 2 < pair.certificate_pem.size(); length += 7) {
    EXPECT_FALSE(ReadCertificate(pair.certificate_pem.substr(0, length)).ok()) << length;
    EXPECT_FALSE(
        CheckCertificate({pair.certificate_pem, pair.key_pem.substr(0, length / 4)}, kNow).ok());
  }
  EXPECT_FALSE(ReadCertificate(pair.key_pem).ok()) << "a key is no certificate";
  EXPECT_FALSE(
      MakeCertificate({"x", "y"}, "coordinator", CertificateUse::kServing, {}, kDays).ok());
}

TEST(RandomHexTest, IsLongAndNeverTheSame) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const std::string token = RandomHex(32).value();
    EXPECT_EQ(token.size(), 64u);
    EXPECT_TRUE(
        std::all_of(token.begin(), token.end(), [](unsigned char c) { return isxdigit(c); }));
    EXPECT_TRUE(seen.insert(token).second);
  }
}

TEST(ShortDigestTest, IsTheBeginningOfTheSha256) {
  EXPECT_EQ(ShortDigest("abc"), "ba7816bf8f01cfea");
}

}  // namespace
}  // namespace interlude
