#include "wire/credentials.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/auth_metadata_processor.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <map>
#include <utility>

#include "base/log.h"
#include "base/secret.h"

namespace interlude {
namespace {

constexpr char kTokenKey[] = "interlude-join-token";

/// Looks at every call, on gRPC's own thread, before any handler does.
class TokenCheck final : public grpc::AuthMetadataProcessor {
 public:
  explicit TokenCheck(std::string token) : token_(std::move(token)) {}
  bool IsBlocking() const override { return false; }

  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* /*context*/,
                       OutputMetadata* consumed, OutputMetadata* /*response*/) override {
    const auto found = metadata.find(kTokenKey);
    if (found == metadata.end()) {
      return Refuse(
          "no join token came: start the worker with --keys DIR, where DIR holds a copy of "
          "join.token from the coordinator's keys");
    }
    const std::string_view given(found->second.data(), found->second.size());
    if (!EqualInConstantTime(token_, given)) {
      return Refuse(
          "the join token is not this coordinator's: copy join.token from the coordinator's keys "
          "into the worker's --keys directory");
    }
    consumed->emplace(kTokenKey, std::string(given));  // so that no handler can see it
    return grpc::Status::OK;
  }

 private:
  grpc::Status Refuse(const char* reason) {
    const uint64_t refused = ++refused_;
    // Strangers cannot fill the disk with it.
    if (std::has_single_bit(refused)) {
      LogWarning("refused a call: {} ({} refused so far)", reason, refused);
    }
    return grpc::Status(grpc::StatusCode::UNAUTHENTICATED, reason);
  }

  const std::string token_;
  std::atomic<uint64_t> refused_ = 0;
};

/// Adds the token to every call. gRPC does so on encrypted connections only.
class TokenSender final : public grpc::MetadataCredentialsPlugin {
 public:
  explicit TokenSender(std::string token) : token_(std::move(token)) {}
  bool IsBlocking() const override { return false; }
  const char* GetType() const override { return "interlude-join-token"; }

  grpc::Status GetMetadata(grpc::string_ref /*service_url*/, grpc::string_ref /*method*/,
                           const grpc::AuthContext& /*context*/,
                           std::multimap<grpc::string, grpc::string>* metadata) override {
    metadata->emplace(kTokenKey, token_);
    return grpc::Status::OK;
  }

 private:
  const std::string token_;
};

bool Says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

std::shared_ptr<grpc::ServerCredentials> MakeServingCredentials(const TransportKeys* keys) {
  if (keys == nullptr) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(
      keys->ca_pem.empty() ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                           : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = keys->ca_pem;
  options.pem_key_cert_pairs.push_back({keys->key_pem, keys->certificate_pem});
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::SslServerCredentials(options);
  credentials->SetAuthMetadataProcessor(std::make_shared<TokenCheck>(keys->join_token));
  return credentials;
}

std::shared_ptr<grpc::ChannelCredentials> MakeConnectingCredentials(const TransportKeys* keys) {
  if (keys == nullptr) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = keys->ca_pem;
  options.pem_cert_chain = keys->certificate_pem;
  options.pem_private_key = keys->key_pem;
  return grpc::CompositeChannelCredentials(
      grpc::SslCredentials(options),
      grpc::MetadataCredentialsFromPlugin(std::make_unique<TokenSender>(keys->join_token)));
}

std::string CertifiedName(const grpc::ServerContext& context) {
  const auto auth = context.auth_context();
  if (auth == nullptr || !auth->IsPeerAuthenticated()) return "";
  const auto names = auth->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
  return names.empty() ? "" : std::string(names.front().data(), names.front().size());
}

ConnectionTrouble ExplainTrouble(bool with_keys, const std::string& grpc_message) {
  if (Says(grpc_message, "certificate verify failed")) {
    return {
        "its certificate is not trusted: ca.crt in this worker's --keys directory has not signed "
        "it, or it is over (interlude keys show DIR tells), or it is no coordinator's",
        /*lasting=*/true};
  }
  if (Says(grpc_message, "is not in peer certificate")) {
    return {
        "its certificate is for other names than this address: use one of those that interlude "
        "keys show DIR tells, or make keys with --name for this one",
        /*lasting=*/true};
  }
  if (Says(grpc_message, "wrong version number")) {
    return {
        "it does not speak TLS: it was started without --keys, or this is no coordinator's port",
        /*lasting=*/true};
  }
  // What a coordinator that refuses this side's first words looks like; one that ends does too.
  if (Says(grpc_message, "Socket closed") || Says(grpc_message, "Connection reset")) {
    return {with_keys
                ? "it closes the connection: if it was started with "
                  "--require-worker-certificates, its ca.crt has not signed this worker's "
                  "certificate, or --keys holds none for this --id"
                : "it closes the connection: if it was started with --keys, this worker needs "
                  "--keys too"};
  }
  return {};
}

}  // namespace interlude
