// Owners for what OpenSSL hands out, and its errors as Status. For certificate_*.cc only.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

#include "base/status.h"

namespace interlude::openssl {

template <auto kFree>
struct Freer {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freer<X509_free>>;
using Memory = std::unique_ptr<BIO, Freer<BIO_free_all>>;
using Number = std::unique_ptr<BIGNUM, Freer<BN_free>>;

/// What OpenSSL says went wrong in `what`.
inline Status Error(const std::string& what) {
  const unsigned long code = ERR_get_error();
  const char* reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
  ERR_clear_error();
  return InternalError("{}: {}", what, reason != nullptr ? reason : "OpenSSL says no reason");
}

inline Memory ReadFrom(const std::string& text) {
  return Memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

inline std::string TextOf(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return {data, static_cast<size_t>(size)};
}

inline Certificate ParseCertificate(const std::string& pem) {
  Certificate certificate(PEM_read_bio_X509(ReadFrom(pem).get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  return certificate;
}

inline Key ParseKey(const std::string& pem) {
  // Never ask at the terminal for a password.
  const auto no_password = [](char*, int, int, void*) { return -1; };
  Key key(PEM_read_bio_PrivateKey(ReadFrom(pem).get(), nullptr, no_password, nullptr));
  ERR_clear_error();
  return key;
}

}  // namespace interlude::openssl
