// Looking at certificates: what they say, and whether TLS would take them.
#include <arpa/inet.h>
#include <fmt/chrono.h>

#include <array>
#include <ctime>
#include <span>

#include "cli/certificate.h"
#include "cli/certificate_openssl.h"

namespace interlude {
namespace {

using Digest = std::array<unsigned char, EVP_MAX_MD_SIZE>;
using AlternativeNames = std::unique_ptr<GENERAL_NAMES, openssl::Freer<GENERAL_NAMES_free>>;

int64_t SecondsOf(const ASN1_TIME* time) {
  std::tm fields{};
  return ASN1_TIME_to_tm(time, &fields) == 1 ? timegm(&fields) : 0;
}

std::string Day(int64_t seconds) {
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::string TextOf(const ASN1_STRING* string) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
          static_cast<size_t>(ASN1_STRING_length(string))};
}

std::string AddressText(const ASN1_OCTET_STRING* address) {
  const int family = ASN1_STRING_length(address) == 4 ? AF_INET : AF_INET6;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (family == AF_INET6 && ASN1_STRING_length(address) != 16) return "?";
  inet_ntop(family, ASN1_STRING_get0_data(address), text.data(), text.size());
  return text.data();
}

std::vector<std::string> HostsOf(X509* certificate) {
  const AlternativeNames names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> hosts;
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) hosts.push_back(TextOf(name->d.dNSName));
    if (name->type == GEN_IPADD) hosts.push_back(AddressText(name->d.iPAddress));
  }
  return hosts;
}

std::string SubjectOf(X509* certificate) {
  X509_NAME* name = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
  return at < 0 ? "" : TextOf(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
}

std::string Hex(std::span<const unsigned char> bytes, const char* between) {
  return fmt::format("{:02x}", fmt::join(bytes, between));
}

}  // namespace

StatusOr<CertificateFacts> ReadCertificate(const std::string& certificate_pem) {
  const openssl::Certificate certificate = openssl::ParseCertificate(certificate_pem);
  if (certificate == nullptr) return InvalidArgumentError("this is no certificate in PEM");
  CertificateFacts facts;
  facts.subject = SubjectOf(certificate.get());
  facts.hosts = HostsOf(certificate.get());
  facts.validity.from = SecondsOf(X509_get0_notBefore(certificate.get()));
  facts.validity.until = SecondsOf(X509_get0_notAfter(certificate.get()));
  Digest digest;
  unsigned int size = 0;
  if (X509_digest(certificate.get(), EVP_sha256(), digest.data(), &size) != 1)
    return openssl::Error("cannot hash a certificate");
  facts.fingerprint = Hex(std::span(digest).first(size), ":");
  return facts;
}

Status CheckCertificate(const CertifiedKey& pair, int64_t now) {
  INTERLUDE_ASSIGN_OR_RETURN(const CertificateFacts facts, ReadCertificate(pair.certificate_pem));
  const openssl::Certificate certificate = openssl::ParseCertificate(pair.certificate_pem);
  const openssl::Key key = openssl::ParseKey(pair.key_pem);
  if (key == nullptr) return InvalidArgumentError("the private key is no key in PEM");
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    ERR_clear_error();
    return FailedPreconditionError("the private key belongs to another certificate");
  }
  if (now < facts.validity.from) {
    return FailedPreconditionError("the certificate is valid from {} on: is the clock right?",
                                   Day(facts.validity.from));
  }
  if (now > facts.validity.until) {
    return FailedPreconditionError(
        "the certificate was valid until {}: make new keys with interlude keys init",
        Day(facts.validity.until));
  }
  return OkStatus();
}

std::string ShortDigest(const std::string& text) {
  Digest digest;
  unsigned int size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
    return "?";
  return Hex(std::span(digest).first(8), "");
}

}  // namespace interlude
