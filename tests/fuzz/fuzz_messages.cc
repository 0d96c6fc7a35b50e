// The messages of a Session and those that order bulk data, from bytes to plain values. What is
// accepted can be sent on and means the same. The first byte says which message.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "layout/layout.h"
#include "wire/convert.h"

namespace interlude {
namespace {

/// No chance mutation meets the hash of a layout.
void Mend(v1::WorkerMessage& proto) {
  if (!proto.has_base_offer() || !proto.base_offer().has_signature()) return;
  v1::BaseOffer& offer = *proto.mutable_base_offer();
  if (offer.signature().low() != 0) return;  // what is to be refused
  std::vector<ParameterSpec> specs;
  for (const v1::Tensor& tensor : offer.tensors())
    specs.push_back(
        {.name = tensor.name(), .shape = {tensor.shape().begin(), tensor.shape().end()}});
  const auto layout = Layout::Create(std::move(specs), offer.chunk_params());
  if (layout.ok()) *offer.mutable_signature() = ToProto(layout->signature());
}

template <typename Proto>
void Read(const uint8_t* data, size_t size) {
  Proto proto;
  if (!proto.ParseFromArray(data, static_cast<int>(size))) return;
  if constexpr (std::is_same_v<Proto, v1::WorkerMessage>) Mend(proto);
  const auto message = FromProto(proto);
  if (!message.ok()) return;
  const Proto sent = ToProto(*message);
  const auto again = FromProto(sent);
  INTERLUDE_CHECK(again.ok(), "{}", again.status().ToString());
  INTERLUDE_CHECK(ToProto(*again).SerializeAsString() == sent.SerializeAsString(), "{}",
                  sent.ShortDebugString());
}

}  // namespace
}  // namespace interlude

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace interlude;
  if (size == 0) return 0;
  const uint8_t kind = data[0];
  ++data;
  --size;
  switch (kind % 5) {
    case 0:
      Read<v1::WorkerMessage>(data, size);
      break;
    case 1:
      Read<v1::CoordinatorMessage>(data, size);
      break;
    case 2:
      Read<v1::UploadHeader>(data, size);
      break;
    case 3:
      Read<v1::DownloadRequest>(data, size);
      break;
    case 4:
      Read<v1::ChunkList>(data, size);
      break;
  }
  return 0;
}
