// The worker's half of the Session.
#include <limits>
#include <utility>

#include "base/clean_text.h"
#include "wire/account_messages.h"
#include "wire/convert.h"
#include "wire/field_checks.h"

namespace interlude {
namespace {

using internal::CheckAtMost;
using internal::CheckFinite;
using internal::CheckRange;
using internal::CheckText;
using internal::FillAccount;
using internal::ReadAccount;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kMostCores = 1 << 20;

void Fill(const JoinMessage& message, v1::WorkerMessage& proto) {
  v1::Join& join = *proto.mutable_join();
  join.set_protocol_version(message.protocol_version);
  join.set_software(CleanText(message.software, kMaxTextBytes));
  join.set_host(CleanText(message.host, kMaxTextBytes));
  join.set_process_id(message.process_id);
  if (message.requested_worker.has_value()) join.set_requested_worker(*message.requested_worker);
  join.set_visible_cores(message.visible_cores);
  join.set_quota_cores(message.quota_cores);
  join.set_usable_cores(message.usable_cores);
  join.set_session(message.session);
}

StatusOr<JoinMessage> Read(const v1::Join& proto) {
  INTERLUDE_RETURN_IF_ERROR(CheckText("software", proto.software(), kMaxTextBytes));
  INTERLUDE_RETURN_IF_ERROR(CheckText("host", proto.host(), kMaxTextBytes));
  INTERLUDE_RETURN_IF_ERROR(CheckRange("process_id", proto.process_id(), 0, kMost));
  INTERLUDE_RETURN_IF_ERROR(CheckRange("visible_cores", proto.visible_cores(), 0, kMostCores));
  INTERLUDE_RETURN_IF_ERROR(CheckRange("usable_cores", proto.usable_cores(), 0, kMostCores));
  INTERLUDE_RETURN_IF_ERROR(CheckFinite("quota_cores", proto.quota_cores()));
  if (proto.quota_cores() < 0)
    return InvalidArgumentError("quota_cores is {}", proto.quota_cores());
  JoinMessage message{.protocol_version = proto.protocol_version(),
                      .software = proto.software(),
                      .host = proto.host(),
                      .process_id = proto.process_id(),
                      .visible_cores = proto.visible_cores(),
                      .quota_cores = proto.quota_cores(),
                      .usable_cores = proto.usable_cores(),
                      .session = proto.session()};
  if (proto.has_requested_worker()) {
    INTERLUDE_RETURN_IF_ERROR(
        CheckRange("requested_worker", proto.requested_worker(), 0, kMaxWorkers - 1));
    message.requested_worker = proto.requested_worker();
  }
  return message;
}

void FillData(const DataFacts& data, v1::BaseOffer& offer) {
  for (std::string& name : CleanClassNames(data.classes)) offer.add_class_names(std::move(name));
  offer.mutable_pixel_mean()->Assign(data.mean.begin(), data.mean.end());
  offer.mutable_pixel_deviation()->Assign(data.deviation.begin(), data.deviation.end());
  const ClassCounts counts = KeptClassCounts(data.counts);
  offer.mutable_train_pictures()->Assign(counts.train.begin(), counts.train.end());
  offer.mutable_test_pictures()->Assign(counts.test.begin(), counts.test.end());
}

StatusOr<ClassCounts> ReadCounts(const v1::BaseOffer& offer) {
  const int classes = offer.train_pictures_size();
  INTERLUDE_RETURN_IF_ERROR(CheckRange("the number of classes whose pictures are counted", classes,
                                       0, int64_t{kMostClassNames}));
  INTERLUDE_RETURN_IF_ERROR(CheckRange("the number of classes whose test pictures are counted",
                                       offer.test_pictures_size(), classes, classes));
  if (classes > 0 && offer.class_names_size() > 0) {
    INTERLUDE_RETURN_IF_ERROR(CheckRange("the number of classes whose pictures are counted",
                                         classes, offer.class_names_size(),
                                         offer.class_names_size()));
  }
  for (const auto* counts : {&offer.train_pictures(), &offer.test_pictures()}) {
    for (const uint64_t count : *counts)
      INTERLUDE_RETURN_IF_ERROR(CheckAtMost("the pictures of a class", count, kMaxSamples));
  }
  return ClassCounts{.train = {offer.train_pictures().begin(), offer.train_pictures().end()},
                     .test = {offer.test_pictures().begin(), offer.test_pictures().end()}};
}

StatusOr<DataFacts> ReadData(const v1::BaseOffer& offer) {
  INTERLUDE_RETURN_IF_ERROR(CheckRange("the number of class names", offer.class_names_size(), 0,
                                       int64_t{kMostClassNames}));
  INTERLUDE_RETURN_IF_ERROR(
      CheckRange("the number of channels", offer.pixel_mean_size(), 0, int64_t{kMostChannels}));
  INTERLUDE_RETURN_IF_ERROR(CheckRange("the number of pixel deviations",
                                       offer.pixel_deviation_size(), offer.pixel_mean_size(),
                                       offer.pixel_mean_size()));
  DataFacts data;
  for (const std::string& name : offer.class_names()) {
    INTERLUDE_RETURN_IF_ERROR(CheckText("a class name", name, kMostClassNameBytes));
    data.classes.push_back(name);
  }
  for (int i = 0; i < offer.pixel_mean_size(); ++i) {
    data.mean.push_back(offer.pixel_mean(i));
    data.deviation.push_back(offer.pixel_deviation(i));
    INTERLUDE_RETURN_IF_ERROR(CheckFinite("a pixel mean", data.mean.back()));
    INTERLUDE_RETURN_IF_ERROR(CheckFinite("a pixel deviation", data.deviation.back()));
    if (data.deviation.back() <= 0)
      return InvalidArgumentError("a pixel deviation is {}", data.deviation.back());
  }
  INTERLUDE_ASSIGN_OR_RETURN(data.counts, ReadCounts(offer));
  return data;
}

void Fill(const BaseOfferMessage& message, v1::WorkerMessage& proto) {
  v1::BaseOffer& offer = *proto.mutable_base_offer();
  for (const ParameterSpec& parameter : message.layout.parameters()) {
    v1::Tensor& tensor = *offer.add_tensors();
    tensor.set_name(parameter.name);
    tensor.mutable_shape()->Assign(parameter.shape.begin(), parameter.shape.end());
  }
  offer.set_chunk_params(message.layout.chunk_params());
  *offer.mutable_signature() = ToProto(message.layout.signature());
  for (const Hash128& hash : message.chunk_hashes) *offer.add_chunk_hashes() = ToProto(hash);
  FillAccount(message.account, *offer.mutable_account());
  offer.set_threads(message.threads);
  offer.set_cannot_provide(!message.may_provide);
  FillData(message.data, offer);
}

StatusOr<Layout> ReadLayout(const v1::BaseOffer& proto) {
  INTERLUDE_RETURN_IF_ERROR(
      CheckRange("the number of tensors", proto.tensors_size(), 0, int64_t{kMaxParameters}));
  std::vector<ParameterSpec> parameters;
  parameters.reserve(static_cast<size_t>(proto.tensors_size()));
  for (const v1::Tensor& tensor : proto.tensors()) {
    INTERLUDE_RETURN_IF_ERROR(
        CheckRange(fmt::format("the number of dimensions of tensor {}", parameters.size()),
                   tensor.shape_size(), 0, int64_t{kMaxDimensions}));
    parameters.push_back(
        {.name = tensor.name(), .shape = {tensor.shape().begin(), tensor.shape().end()}});
  }
  INTERLUDE_ASSIGN_OR_RETURN(Layout layout,
                             Layout::Create(std::move(parameters), proto.chunk_params()));
  if (const Hash128 announced = FromProto(proto.signature()); announced != layout.signature()) {
    return InvalidArgumentError(
        "the layout's signature is announced as {}, but its {} tensors with {} values in chunks of "
        "{} give {}; "
        "the two programs differ in version, or the message was damaged",
        announced.ToHex(), layout.parameters().size(), layout.total_params(), layout.chunk_params(),
        layout.signature().ToHex());
  }
  return layout;
}

StatusOr<BaseOfferMessage> Read(const v1::BaseOffer& proto) {
  BaseOfferMessage message;
  INTERLUDE_ASSIGN_OR_RETURN(message.layout, ReadLayout(proto));
  if (static_cast<uint32_t>(proto.chunk_hashes_size()) != message.layout.num_chunks()) {
    return InvalidArgumentError("{} chunk hashes, but the layout has {} chunks",
                                proto.chunk_hashes_size(), message.layout.num_chunks());
  }
  message.chunk_hashes.reserve(message.layout.num_chunks());
  for (const v1::Hash& hash : proto.chunk_hashes()) message.chunk_hashes.push_back(FromProto(hash));
  INTERLUDE_ASSIGN_OR_RETURN(message.account, ReadAccount(proto.account()));
  INTERLUDE_RETURN_IF_ERROR(CheckRange("threads", proto.threads(), 0, kMostCores));
  message.threads = proto.threads();
  message.may_provide = !proto.cannot_provide();
  INTERLUDE_ASSIGN_OR_RETURN(message.data, ReadData(proto));
  return message;
}

void Fill(const CaughtUpMessage& message, v1::WorkerMessage& proto) {
  v1::CaughtUp& caught_up = *proto.mutable_caught_up();
  caught_up.set_round(message.round);
  caught_up.set_base_chunks(message.base_chunks);
  caught_up.set_sync_chunks(message.sync_chunks);
  caught_up.set_bytes(message.bytes);
  FillAccount(message.account, *caught_up.mutable_account());
}

StatusOr<CaughtUpMessage> Read(const v1::CaughtUp& proto) {
  INTERLUDE_RETURN_IF_ERROR(CheckAtMost("bytes", proto.bytes(), static_cast<uint64_t>(kMost)));
  CaughtUpMessage message{.round = proto.round(),
                          .base_chunks = proto.base_chunks(),
                          .sync_chunks = proto.sync_chunks(),
                          .bytes = proto.bytes()};
  INTERLUDE_ASSIGN_OR_RETURN(message.account, ReadAccount(proto.account()));
  return message;
}

void Fill(const ProgressMessage& message, v1::WorkerMessage& proto) {
  v1::Progress& progress = *proto.mutable_progress();
  progress.set_round(message.round);
  progress.set_steps_done(message.steps_done);
  progress.set_steps(message.steps);
  progress.set_loss(message.loss);
}

StatusOr<ProgressMessage> Read(const v1::Progress& proto) {
  INTERLUDE_RETURN_IF_ERROR(CheckAtMost("steps_done", proto.steps_done(), proto.steps()));
  INTERLUDE_RETURN_IF_ERROR(CheckFinite("loss", proto.loss()));
  return ProgressMessage{.round = proto.round(),
                         .steps_done = proto.steps_done(),
                         .steps = proto.steps(),
                         .loss = proto.loss()};
}

void Fill(const RoundReportMessage& message, v1::WorkerMessage& proto) {
  v1::RoundReport& report = *proto.mutable_round_report();
  report.set_round(message.round);
  *report.mutable_root() = ToProto(message.root);
  report.set_samples(message.samples);
  report.set_mean_loss(message.mean_loss);
  report.set_last_loss(message.last_loss);
  report.set_repaired_chunks(message.repaired_chunks);
  report.set_upload_bytes(message.upload_bytes);
  report.set_download_bytes(message.download_bytes);
  FillAccount(message.account, *report.mutable_account());
}

StatusOr<RoundReportMessage> Read(const v1::RoundReport& proto) {
  if (!proto.has_root())
    return InvalidArgumentError("the report of round {} has no root", proto.round());
  INTERLUDE_RETURN_IF_ERROR(CheckAtMost("samples", proto.samples(), kMaxSamples));
  INTERLUDE_RETURN_IF_ERROR(CheckFinite("mean_loss", proto.mean_loss()));
  INTERLUDE_RETURN_IF_ERROR(CheckFinite("last_loss", proto.last_loss()));
  INTERLUDE_RETURN_IF_ERROR(CheckAtMost("repaired_chunks", proto.repaired_chunks(), kMaxChunks));
  INTERLUDE_RETURN_IF_ERROR(
      CheckAtMost("upload_bytes", proto.upload_bytes(), static_cast<uint64_t>(kMost)));
  INTERLUDE_RETURN_IF_ERROR(
      CheckAtMost("download_bytes", proto.download_bytes(), static_cast<uint64_t>(kMost)));
  RoundReportMessage message{.round = proto.round(),
                             .root = FromProto(proto.root()),
                             .samples = proto.samples(),
                             .mean_loss = proto.mean_loss(),
                             .last_loss = proto.last_loss(),
                             .repaired_chunks = proto.repaired_chunks(),
                             .upload_bytes = proto.upload_bytes(),
                             .download_bytes = proto.download_bytes()};
  INTERLUDE_ASSIGN_OR_RETURN(message.account, ReadAccount(proto.account()));
  return message;
}

void FillConfusion(const EvaluationReportMessage& message, v1::EvaluationReport& report) {
  if (message.classes > kMostConfusionClasses || message.confusion.size() > kMostConfusionCells)
    return;
  int64_t before = -1;
  for (const ConfusionCell& cell : message.confusion) {
    const int64_t place = int64_t{cell.label} * message.classes + cell.predicted;
    report.add_confusion_gaps(static_cast<uint32_t>(place - before));
    report.add_confusion_counts(cell.count);
    before = place;
  }
}

StatusOr<Confusion> ReadConfusion(const v1::EvaluationReport& proto) {
  const int cells = proto.confusion_gaps_size();
  INTERLUDE_RETURN_IF_ERROR(
      CheckRange("the number of confused pairs", cells, 0, int64_t{kMostConfusionCells}));
  INTERLUDE_RETURN_IF_ERROR(
      CheckRange("the number of their counts", proto.confusion_counts_size(), cells, cells));
  if (cells > 0)
    INTERLUDE_RETURN_IF_ERROR(
        CheckRange("classes", proto.classes(), 1, int64_t{kMostConfusionClasses}));
  Confusion confusion;
  int64_t place = -1;
  for (int i = 0; i < cells; ++i) {
    place += proto.confusion_gaps(i);
    const int64_t places = int64_t{proto.classes()} * proto.classes();
    if (place < 0 || place >= places)
      return InvalidArgumentError("a confused pair at place {} of {}", place, places);
    confusion.push_back({static_cast<uint32_t>(place / proto.classes()),
                         static_cast<uint32_t>(place % proto.classes()),
                         proto.confusion_counts(i)});
  }
  INTERLUDE_RETURN_IF_ERROR(
      CheckConfusion(confusion, proto.classes(), proto.samples(), proto.correct()));
  return confusion;
}

void Fill(const EvaluationReportMessage& message, v1::WorkerMessage& proto) {
  v1::EvaluationReport& report = *proto.mutable_evaluation_report();
  report.set_after_rounds(message.after_rounds);
  report.set_correct(message.correct);
  report.set_samples(message.samples);
  report.set_loss_sum(message.loss_sum);
  FillAccount(message.account, *report.mutable_account());
  report.set_classes(message.classes);
  report.set_top5(message.top5);
  FillConfusion(message, report);
}

StatusOr<EvaluationReportMessage> Read(const v1::EvaluationReport& proto) {
  INTERLUDE_RETURN_IF_ERROR(CheckAtMost("samples", proto.samples(), kMaxSamples));
  INTERLUDE_RETURN_IF_ERROR(CheckAtMost("correct", proto.correct(), proto.samples()));
  INTERLUDE_RETURN_IF_ERROR(CheckFinite("loss_sum", proto.loss_sum()));
  EvaluationReportMessage message{.after_rounds = proto.after_rounds(),
                                  .correct = proto.correct(),
                                  .samples = proto.samples(),
                                  .loss_sum = proto.loss_sum(),
                                  .classes = proto.classes(),
                                  .top5 = proto.top5()};
  if (proto.classes() > 0) {
    INTERLUDE_RETURN_IF_ERROR(CheckAtMost("correct", proto.correct(), proto.top5()));
    INTERLUDE_RETURN_IF_ERROR(CheckAtMost("top5", proto.top5(), proto.samples()));
  }
  INTERLUDE_ASSIGN_OR_RETURN(message.confusion, ReadConfusion(proto));
  INTERLUDE_ASSIGN_OR_RETURN(message.account, ReadAccount(proto.account()));
  return message;
}

void Fill(const LeaveMessage& message, v1::WorkerMessage& proto) {
  v1::Leave& leave = *proto.mutable_leave();
  leave.set_failed(message.failed);
  leave.set_reason(CleanText(message.reason, kMaxTextBytes));
}

StatusOr<LeaveMessage> Read(const v1::Leave& proto) {
  INTERLUDE_RETURN_IF_ERROR(CheckText("reason", proto.reason(), kMaxTextBytes));
  return LeaveMessage{.failed = proto.failed(), .reason = proto.reason()};
}

template <typename Message>
StatusOr<WorkerMessage> Wrap(StatusOr<Message> message, std::string_view kind) {
  if (!message.ok()) return message.status().WithContext(kind);
  return WorkerMessage(*std::move(message));
}

}  // namespace

v1::WorkerMessage ToProto(const WorkerMessage& message) {
  v1::WorkerMessage proto;
  std::visit([&](const auto& kind) { Fill(kind, proto); }, message);
  return proto;
}

StatusOr<WorkerMessage> FromProto(const v1::WorkerMessage& message) {
  switch (message.kind_case()) {
    case v1::WorkerMessage::kJoin:
      return Wrap(Read(message.join()), "Join");
    case v1::WorkerMessage::kBaseOffer:
      return Wrap(Read(message.base_offer()), "BaseOffer");
    case v1::WorkerMessage::kCaughtUp:
      return Wrap(Read(message.caught_up()), "CaughtUp");
    case v1::WorkerMessage::kProgress:
      return Wrap(Read(message.progress()), "Progress");
    case v1::WorkerMessage::kRoundReport:
      return Wrap(Read(message.round_report()), "RoundReport");
    case v1::WorkerMessage::kEvaluationReport:
      return Wrap(Read(message.evaluation_report()), "EvaluationReport");
    case v1::WorkerMessage::kLeave:
      return Wrap(Read(message.leave()), "Leave");
    case v1::WorkerMessage::KIND_NOT_SET:
      break;
  }
  return InvalidArgumentError(
      "a worker sent a message of no known kind; it may be a newer program");
}

}  // namespace interlude
