#include "cli/atomic_buffer.h"

#include <span>
#include <utility>

namespace interlude {

AtomicBuffer::AtomicBuffer(AtomicFile file) : file_(std::move(file)) {
  setp(bytes_.data(), bytes_.data() + bytes_.size());
}

AtomicBuffer::int_type AtomicBuffer::overflow(int_type next) {
  if (sync() != 0) return traits_type::eof();
  if (!traits_type::eq_int_type(next, traits_type::eof())) {
    *pptr() = traits_type::to_char_type(next);
    pbump(1);
  }
  return traits_type::not_eof(next);
}

int AtomicBuffer::sync() {
  const std::span<const char> filled(pbase(), pptr());
  setp(bytes_.data(), bytes_.data() + bytes_.size());
  if (status_.ok()) status_ = file_.Write(std::as_bytes(filled));
  return status_.ok() ? 0 : -1;
}

Status AtomicBuffer::Commit() {
  sync();
  INTERLUDE_RETURN_IF_ERROR(status_);
  return file_.Commit();
}

}  // namespace interlude
