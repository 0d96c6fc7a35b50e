#include "coordinator/session.h"

#include <algorithm>
#include <string_view>

#include "base/secret.h"

namespace interlude {
namespace {

std::string_view BytesOf(const uint64_t& token) {
  return {reinterpret_cast<const char*>(&token), sizeof token};
}

}  // namespace

bool Session::HasToken(uint64_t given) const {
  return EqualInConstantTime(BytesOf(token), BytesOf(given));
}

uint64_t Session::BeginUpload() {
  MutexLock lock(upload_mutex_);
  return ++upload_generation_;
}

void Session::Drop() {
  MutexLock lock(upload_mutex_);
  dropped = true;
}

void SessionTable::Add(WorkerId worker, std::shared_ptr<Session> session) {
  MutexLock lock(mutex_);
  sessions_[worker] = std::move(session);
}

void SessionTable::Remove(WorkerId worker, const Session* session) {
  MutexLock lock(mutex_);
  const auto it = sessions_.find(worker);
  if (it != sessions_.end() && it->second.get() == session) sessions_.erase(it);
}

StatusOr<std::shared_ptr<Session>> SessionTable::Find(WorkerId worker, uint64_t token) const {
  std::shared_ptr<Session> session = Get(worker);
  if (session == nullptr || !session->HasToken(token)) {
    return PermissionDeniedError(
        "worker {} has no session with this token: join first, and join again after a lost session",
        worker);
  }
  return session;
}

std::shared_ptr<Session> SessionTable::Get(WorkerId worker) const {
  MutexLock lock(mutex_);
  const auto it = sessions_.find(worker);
  return it == sessions_.end() ? nullptr : it->second;
}

std::vector<std::shared_ptr<Session>> SessionTable::All() const {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<Session>> all;
  for (const auto& [worker, session] : sessions_) all.push_back(session);
  return all;
}

bool SessionTable::AnyBulkStream() const {
  MutexLock lock(mutex_);
  return std::ranges::any_of(
      sessions_, [](const auto& entry) { return entry.second->bulk_streams.load() > 0; });
}

}  // namespace interlude
