#include "coordinator/events.h"

namespace interlude {
namespace {

struct Refuse {
  const Status& reason;
  void operator()(JoinEvent& event) const { event.reply.set_value(reason); }
  void operator()(UploadBegunEvent& event) const { event.reply.set_value(reason); }
  void operator()(BaseStoredEvent& event) const { event.reply.set_value(reason); }
  void operator()(WorkerSaidEvent&) const {}
  void operator()(SessionClosedEvent&) const {}
  void operator()(ChunkStoredEvent&) const {}
  void operator()(ChunkMergedEvent&) const {}
  void operator()(OffenceEvent&) const {}
  void operator()(SnapshotEvent&) const {}
  void operator()(StopEvent&) const {}
};

}  // namespace

void RefuseAllEvents(EventQueue& events, const Status& reason) {
  events.Close();
  while (auto event = events.Pop()) std::visit(Refuse{reason}, *event);
}

}  // namespace interlude
