// Making keys and certificates.
#include <arpa/inet.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>

#include "cli/certificate.h"
#include "cli/certificate_openssl.h"

namespace interlude {
namespace {

using openssl::Error;

constexpr int kSerialBits = 127;  // positive, and never the same twice
constexpr char kDigits[] = "0123456789abcdef";

StatusOr<std::string> KeyText(EVP_PKEY* key) {
  const openssl::Memory memory(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PKCS8PrivateKey(memory.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return Error("cannot write a private key");
  return openssl::TextOf(memory.get());
}

StatusOr<std::string> CertificateText(X509* certificate) {
  const openssl::Memory memory(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(memory.get(), certificate) != 1)
    return Error("cannot write a certificate");
  return openssl::TextOf(memory.get());
}

bool SetSerial(X509* certificate) {
  const openssl::Number number(BN_new());
  return BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool SetName(X509* certificate, const std::string& name) {
  const auto* text = reinterpret_cast<const unsigned char*>(name.c_str());
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8, text,
                                    -1, -1, 0) == 1;
}

/// `value` in OpenSSL's own notation: no text of a person may be in it unchecked.
bool AddExtension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  const bool added = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

/// A certificate for `key`, all but its extensions and its signature.
openssl::Certificate Blank(EVP_PKEY* key, const std::string& name, const Validity& validity) {
  openssl::Certificate certificate(X509_new());
  X509* x509 = certificate.get();
  const bool filled = x509 != nullptr && X509_set_version(x509, X509_VERSION_3) == 1 &&
                      SetSerial(x509) && SetName(x509, name) && X509_set_pubkey(x509, key) == 1 &&
                      ASN1_TIME_set(X509_getm_notBefore(x509), validity.from) != nullptr &&
                      ASN1_TIME_set(X509_getm_notAfter(x509), validity.until) != nullptr;
  return filled ? std::move(certificate) : nullptr;
}

bool IsAddress(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes;
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

bool IsDnsName(const std::string& host) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  };
  return !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), allowed);
}

/// "DNS:box,IP:10.0.0.5"
StatusOr<std::string> AlternativeNames(const std::vector<std::string>& hosts) {
  std::string names;
  for (const std::string& host : hosts) {
    if (!IsAddress(host) && !IsDnsName(host)) {
      return InvalidArgumentError(
          "\"{}\" is neither a host name nor an IP address: give it without a port or brackets",
          host);
    }
    names += (names.empty() ? "" : ",") + std::string(IsAddress(host) ? "IP:" : "DNS:") + host;
  }
  return names;
}

StatusOr<CertifiedKey> SignAndWrite(X509* certificate, EVP_PKEY* own_key, EVP_PKEY* signing_key) {
  if (X509_sign(certificate, signing_key, EVP_sha256()) == 0)
    return Error("cannot sign a certificate");
  CertifiedKey made;
  INTERLUDE_ASSIGN_OR_RETURN(made.certificate_pem, CertificateText(certificate));
  INTERLUDE_ASSIGN_OR_RETURN(made.key_pem, KeyText(own_key));
  return made;
}

}  // namespace

StatusOr<CertifiedKey> MakeAuthority(const std::string& name, const Validity& validity) {
  const openssl::Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return Error("cannot make a key");
  const openssl::Certificate certificate = Blank(key.get(), name, validity);
  X509* x509 = certificate.get();
  const bool filled =
      x509 != nullptr && X509_set_issuer_name(x509, X509_get_subject_name(x509)) == 1 &&
      AddExtension(x509, x509, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
      AddExtension(x509, x509, NID_key_usage, "critical,keyCertSign,cRLSign") &&
      AddExtension(x509, x509, NID_subject_key_identifier, "hash");
  if (!filled) return Error("cannot make the certificate of the CA");
  return SignAndWrite(x509, key.get(), key.get());
}

StatusOr<CertifiedKey> MakeCertificate(const CertifiedKey& authority, const std::string& name,
                                       CertificateUse use, const std::vector<std::string>& hosts,
                                       const Validity& validity) {
  INTERLUDE_ASSIGN_OR_RETURN(const std::string names, AlternativeNames(hosts));
  const openssl::Certificate issuer = openssl::ParseCertificate(authority.certificate_pem);
  const openssl::Key signing_key = openssl::ParseKey(authority.key_pem);
  if (issuer == nullptr || signing_key == nullptr)
    return InvalidArgumentError("the CA's certificate or key cannot be read");
  const openssl::Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return Error("cannot make a key");
  const openssl::Certificate certificate = Blank(key.get(), name, validity);
  X509* x509 = certificate.get();
  const char* usage = use == CertificateUse::kServing ? "serverAuth" : "clientAuth";
  const bool filled =
      x509 != nullptr && X509_set_issuer_name(x509, X509_get_subject_name(issuer.get())) == 1 &&
      AddExtension(x509, issuer.get(), NID_basic_constraints, "critical,CA:FALSE") &&
      AddExtension(x509, issuer.get(), NID_key_usage, "critical,digitalSignature") &&
      AddExtension(x509, issuer.get(), NID_ext_key_usage, usage) &&
      AddExtension(x509, issuer.get(), NID_subject_key_identifier, "hash") &&
      AddExtension(x509, issuer.get(), NID_authority_key_identifier, "keyid") &&
      (names.empty() || AddExtension(x509, issuer.get(), NID_subject_alt_name, names));
  if (!filled) return Error("cannot make a certificate for " + name);
  return SignAndWrite(x509, key.get(), signing_key.get());
}

StatusOr<std::string> RandomHex(size_t bytes) {
  std::string random(bytes, '\0');
  if (RAND_priv_bytes(reinterpret_cast<unsigned char*>(random.data()),
                      static_cast<int>(random.size())) != 1) {
    return Error("the system gives no random bytes");
  }
  std::string text;
  for (const char c : random) {
    const auto byte = static_cast<unsigned char>(c);
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

}  // namespace interlude
