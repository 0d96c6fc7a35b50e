// Who may take part in a run, over real TLS inside one process: the right code and words for each
// kind of stranger, and a coordinator that goes on.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/certificate.h"
#include "cli/key_files.h"
#include "tests/cluster.h"
#include "wire/convert.h"
#include "wire/credentials.h"

namespace interlude {
namespace {

using testing::HasSubstr;

const Validity kValid = {SecondsSinceEpoch() - 3600, SecondsSinceEpoch() + 86'400};

/// A CA with all that it gives out.
struct Authority {
  CertifiedKey ca = MakeAuthority("a test's CA", kValid).value();
  std::string token = RandomHex(kTokenBytes).value();

  CertifiedKey Certify(const std::string& name, CertificateUse use,
                       const std::vector<std::string>& hosts = {}) const {
    return MakeCertificate(ca, name, use, hosts, kValid).value();
  }
  TransportKeys Coordinator(bool require_worker_certificates,
                            const std::vector<std::string>& hosts = {"127.0.0.1"}) const {
    const CertifiedKey pair = Certify("coordinator", CertificateUse::kServing, hosts);
    return {require_worker_certificates ? ca.certificate_pem : "", pair.certificate_pem,
            pair.key_pem, token};
  }
  TransportKeys Worker() const { return {.ca_pem = ca.certificate_pem, .join_token = token}; }
  TransportKeys Worker(const std::string& name,
                       CertificateUse use = CertificateUse::kConnecting) const {
    const CertifiedKey pair = Certify(name, use);
    return {ca.certificate_pem, pair.certificate_pem, pair.key_pem, token};
  }
};

class TlsTest : public testing::Test {
 protected:
  ~TlsTest() override {
    if (coordinator_ != nullptr) coordinator_->Stop("the test is over");
  }

  void Start(std::optional<TransportKeys> keys, uint32_t workers = 1) {
    CoordinatorOptions options;
    options.config = SyntheticConfig();
    options.workers = workers;
    options.directory = FreshDirectory("tls");
    options.threads = 1;
    options.keys = std::move(keys);
    directory_ = options.directory;
    coordinator_ = Coordinator::Start(options, SystemClock(), nullptr).value();
  }
  StatusOr<WorkerOutcome> Join(std::optional<TransportKeys> keys,
                               std::optional<WorkerId> id = std::nullopt) {
    ClusterOptions cluster;
    FinalParameters parameters;
    WorkerOptions options;
    options.coordinator = coordinator_->address();
    options.requested_worker = id;
    options.threads = 1;
    options.connect_timeout = patience_;
    options.keys = std::move(keys);
    return RunWorker(options, MakeFactory(cluster, parameters), SystemClock(),
                     [] { return false; });
  }
  Status Refusal(std::optional<TransportKeys> keys, std::optional<WorkerId> id = std::nullopt) {
    return Join(std::move(keys), id).status();
  }
  /// The coordinator is there for a right worker still.
  void ExpectARightWorkerFinishes(const TransportKeys& keys) {
    const auto outcome = Join(keys);
    EXPECT_TRUE(outcome.ok()) << outcome.status().ToString();
    EXPECT_TRUE(coordinator_->Wait().ok());
  }

  /// A coordinator that closes connections is tried for so long.
  Nanoseconds patience_ = std::chrono::seconds(30);
  const Authority ours_{};
  const Authority other_{};
  std::unique_ptr<Coordinator> coordinator_;
  std::string directory_;
};

TEST_F(TlsTest, WithoutATokenNothingIsRead) {
  Start(ours_.Coordinator(false));
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = ours_.ca.certificate_pem;
  const auto stub = v1::Coordinator::NewStub(
      grpc::CreateChannel(coordinator_->address(), grpc::SslCredentials(options)));
  // More than the calls that may have a thread at once.
  for (int i = 0; i < 100; ++i) {
    grpc::ClientContext context;
    v1::UploadReceipt receipt;
    const Status status = FromGrpc(stub->Upload(&context, &receipt)->Finish());
    ASSERT_EQ(status.code(), StatusCode::kUnauthenticated) << status.ToString();
  }
  grpc::ClientContext context;
  const Status status = FromGrpc(stub->Session(&context)->Finish());
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated);
  EXPECT_THAT(status.message(), HasSubstr("no join token"));
  EXPECT_THAT(status.message(), HasSubstr("join.token"));
  ExpectARightWorkerFinishes(ours_.Worker());
}

TEST_F(TlsTest, AnotherTokenIsRefusedAndTheFileNamed) {
  Start(ours_.Coordinator(false));
  TransportKeys wrong = ours_.Worker();
  wrong.join_token = other_.token;
  const Status status = Refusal(wrong);
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated);
  EXPECT_THAT(status.message(), HasSubstr("copy join.token"));
  wrong.join_token = ours_.token.substr(1);
  EXPECT_EQ(Refusal(wrong).code(), StatusCode::kUnauthenticated);
  ExpectARightWorkerFinishes(ours_.Worker());
}

TEST_F(TlsTest, ACoordinatorOfAnotherCaIsNotTrusted) {
  Start(ours_.Coordinator(false));
  const Status status = Refusal(other_.Worker());
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated);
  EXPECT_THAT(status.message(), HasSubstr("its certificate is not trusted"));
}

TEST_F(TlsTest, AWorkersCertificateMakesNoCoordinator) {
  TransportKeys keys = ours_.Coordinator(false);
  const CertifiedKey pair = ours_.Certify("worker-0", CertificateUse::kConnecting, {"127.0.0.1"});
  keys.certificate_pem = pair.certificate_pem;
  keys.key_pem = pair.key_pem;
  Start(keys);
  EXPECT_THAT(Refusal(ours_.Worker()).message(), HasSubstr("or it is no coordinator's"));
}

TEST_F(TlsTest, ACertificateForAnotherNameIsRefusedWithWhatToDo) {
  Start(ours_.Coordinator(false, {"elsewhere.example", "10.0.0.5"}));
  const Status status = Refusal(ours_.Worker());
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated);
  EXPECT_THAT(status.message(), HasSubstr("--name"));
}

TEST_F(TlsTest, PlainTextAndTlsDoNotMixAndSaySo) {
  Start(ours_.Coordinator(false));
  patience_ = std::chrono::seconds(2);
  const Status plain = Refusal(std::nullopt);
  patience_ = std::chrono::seconds(30);
  EXPECT_EQ(plain.code(), StatusCode::kUnavailable);
  EXPECT_THAT(plain.message(), HasSubstr("this worker needs --keys too"));
  ExpectARightWorkerFinishes(ours_.Worker());
  Start(std::nullopt);
  const Status tls = Refusal(ours_.Worker());
  EXPECT_EQ(tls.code(), StatusCode::kUnauthenticated);
  EXPECT_THAT(tls.message(), HasSubstr("does not speak TLS"));
}

TEST_F(TlsTest, WithMutualTlsAWorkerNeedsACertificateOfOurCa) {
  Start(ours_.Coordinator(true));
  patience_ = std::chrono::seconds(2);
  EXPECT_THAT(Refusal(ours_.Worker()).message(), HasSubstr("--require-worker-certificates"));
  TransportKeys foreign = other_.Worker("worker-0");
  foreign.ca_pem = ours_.ca.certificate_pem;
  foreign.join_token = ours_.token;
  EXPECT_THAT(Refusal(foreign).message(), HasSubstr("has not signed this worker's certificate"));
  EXPECT_EQ(Refusal(ours_.Worker("worker-0", CertificateUse::kServing)).code(),
            StatusCode::kUnavailable)
      << "a certificate for serving";
  patience_ = std::chrono::seconds(30);
  ExpectARightWorkerFinishes(ours_.Worker("worker-0"));
}

TEST_F(TlsTest, ACertificateDoesNotStandForTheToken) {
  Start(ours_.Coordinator(true));
  TransportKeys keys = ours_.Worker("worker-0");
  keys.join_token = other_.token;
  EXPECT_EQ(Refusal(keys).code(), StatusCode::kUnauthenticated);
}

TEST_F(TlsTest, AWorkerIsTheOneThatItsCertificateNames) {
  Start(ours_.Coordinator(true), 3);
  const Status other_id = Refusal(ours_.Worker("worker-2"), 0);
  EXPECT_EQ(other_id.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(other_id.message(), HasSubstr("worker id 0 was asked for"));
  EXPECT_EQ(Refusal(ours_.Worker("somebody")).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(Refusal(ours_.Worker("worker-3")).code(), StatusCode::kOutOfRange)
      << "this run has three";
  grpc::ClientContext context;
  const TransportKeys keys = ours_.Worker("worker-2");
  const auto stub = v1::Coordinator::NewStub(
      grpc::CreateChannel(coordinator_->address(), MakeConnectingCredentials(&keys)));
  const auto stream = stub->Session(&context);
  stream->Write(ToProto(WorkerMessage(JoinMessage{})));
  v1::CoordinatorMessage welcome;
  ASSERT_TRUE(stream->Read(&welcome));
  EXPECT_EQ(welcome.welcome().worker(), 2) << "the lowest free id is 0";
  context.TryCancel();
}

TEST_F(TlsTest, AWholeRunOverMutualTlsComesToTheBitsOfAPlainOne) {
  ClusterOptions plain;
  plain.workers = 1;
  plain.directory = FreshDirectory("plain");
  const ClusterResult without = RunCluster(plain);
  ASSERT_TRUE(without.outcome.ok());
  Start(ours_.Coordinator(true));
  const auto worker = Join(ours_.Worker("worker-0"));
  ASSERT_TRUE(worker.ok()) << worker.status().ToString();
  EXPECT_EQ(worker->root_hash, without.outcome->root_hash);
}

constexpr auto kOwnerOnly =
    std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;

std::string ReadWhole(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST_F(TlsTest, NoSessionTokenIsLeftInTheRunsFiles) {
  Start(ours_.Coordinator(false));
  const TransportKeys keys = ours_.Worker();
  const auto stub = v1::Coordinator::NewStub(
      grpc::CreateChannel(coordinator_->address(), MakeConnectingCredentials(&keys)));
  grpc::ClientContext context;
  const auto stream = stub->Session(&context);
  stream->Write(ToProto(WorkerMessage(JoinMessage{})));
  v1::CoordinatorMessage welcome;
  ASSERT_TRUE(stream->Read(&welcome));
  const uint64_t session = welcome.welcome().session();
  EXPECT_EQ(welcome.welcome().config_toml().find(ours_.token), std::string::npos);
  context.TryCancel();
  coordinator_->Stop("the test is over");
  EXPECT_FALSE(coordinator_->Wait().ok());
  const std::string bytes(reinterpret_cast<const char*>(&session), sizeof session);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
    if (!entry.is_regular_file()) continue;
    const std::string text = ReadWhole(entry.path());
    // A journal must know the stays that go on when its coordinator comes back.
    const bool may_hold_it = entry.path().parent_path().filename() == "journal" &&
                             entry.status().permissions() == kOwnerOnly;
    for (const std::string& secret :
         {std::to_string(session), std::to_string(static_cast<int64_t>(session)),
          fmt::format("{:x}", session), bytes, std::string(bytes.rbegin(), bytes.rend())}) {
      EXPECT_TRUE(may_hold_it || text.find(secret) == std::string::npos) << entry.path();
    }
    EXPECT_EQ(text.find(ours_.token), std::string::npos) << entry.path();
  }
}

TEST(ExposureTest, AnOpenAddressWithoutKeysIsRefusedUnlessThatIsWanted) {
  CoordinatorOptions options;
  options.config = SyntheticConfig();
  options.directory = FreshDirectory("exposed");
  options.listen = "0.0.0.0:0";
  const Status status = Coordinator::Start(options, SystemClock(), nullptr).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("interlude keys init"));
  EXPECT_FALSE(std::filesystem::exists(options.directory));
  options.insecure = true;
  EXPECT_TRUE(Coordinator::Start(options, SystemClock(), nullptr).ok());

  ClusterOptions cluster;
  FinalParameters parameters;
  WorkerOptions worker;
  worker.coordinator = "192.0.2.1:7070";
  worker.connect_timeout = std::chrono::milliseconds(1);
  const auto join = [&] {
    return RunWorker(worker, MakeFactory(cluster, parameters), SystemClock(), [] { return false; })
        .status();
  };
  EXPECT_EQ(join().code(), StatusCode::kInvalidArgument);
  worker.insecure = true;
  EXPECT_EQ(join().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace interlude
