#include "web/http_listener.h"

#include <microhttpd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <exception>
#include <string_view>

#include "base/log.h"

namespace interlude {
namespace {

/// The page must not slow the run that it shows: its threads get what the others leave.
void YieldToTheRun() {
  thread_local const bool done = [] {
    constexpr int kNiceness = 10;
    return setpriority(PRIO_PROCESS, 0, kNiceness) == 0;  // on Linux: of the calling thread
  }();
  (void)done;  // it is only slower to give way where this is refused
}

MHD_Result AddHeader(void* to, MHD_ValueKind, const char* name, const char* value) {
  auto& headers = static_cast<HttpRequest*>(to)->headers;
  const auto [at, first] = headers.try_emplace(name, value != nullptr ? value : "");
  if (!first) at->second.append(", ").append(value != nullptr ? value : "");
  return MHD_YES;
}

/// The first value counts.
MHD_Result AddField(void* to, MHD_ValueKind, const char* name, const char* value) {
  static_cast<HttpRequest::Fields*>(to)->try_emplace(name, value != nullptr ? value : "");
  return MHD_YES;
}

HttpRequest ReadRequest(MHD_Connection* connection, const char* path, const char* method) {
  HttpRequest request;
  request.method = method;
  request.path = path;
  MHD_get_connection_values(connection, MHD_HEADER_KIND, &AddHeader, &request);
  MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, &AddField, &request.query);
  MHD_get_connection_values(connection, MHD_COOKIE_KIND, &AddField, &request.cookies);
  return request;
}

using Body = std::shared_ptr<const std::string>;

void DropBody(void* body) { delete static_cast<Body*>(body); }

/// The response keeps the text alive until the last byte of it is sent.
MHD_Result Queue(MHD_Connection* connection, const HttpAnswer& answer) {
  static const Body kNothing = std::make_shared<const std::string>();
  auto body = std::make_unique<Body>(answer.body != nullptr ? answer.body : kNothing);
  // It is only read, whatever the type says.
  MHD_Response* response = MHD_create_response_from_buffer_with_free_callback_cls(
      (*body)->size(), const_cast<char*>((*body)->data()), &DropBody, body.get());
  if (response == nullptr) return MHD_NO;
  static_cast<void>(body.release());  // the response's from here on
  for (const auto& [name, value] : answer.headers)
    MHD_add_response_header(response, name.c_str(), value.c_str());
  const MHD_Result queued =
      MHD_queue_response(connection, static_cast<unsigned>(answer.status), response);
  MHD_destroy_response(response);
  return queued;
}

class MicrohttpdListener final : public HttpListener {
 public:
  explicit MicrohttpdListener(Answerer answerer) : answerer_(std::move(answerer)) {}

  ~MicrohttpdListener() override {
    if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
  }

  /// Takes the socket, also when it fails. By poll, since by epoll libmicrohttpd 0.9.75 does not
  /// see the end of a connection that comes together with its last bytes.
  bool Begin(int listening_socket) {
    daemon_ = MHD_start_daemon(MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ITC, 0, nullptr, nullptr,
                               &OnRequest, this, MHD_OPTION_LISTEN_SOCKET, listening_socket,     //
                               MHD_OPTION_THREAD_POOL_SIZE, kWebThreads,                         //
                               MHD_OPTION_CONNECTION_LIMIT, kMostWebConnections,                 //
                               MHD_OPTION_CONNECTION_MEMORY_LIMIT, size_t{kWebConnectionBytes},  //
                               MHD_OPTION_CONNECTION_TIMEOUT, kWebIdleSeconds,                   //
                               MHD_OPTION_STRICT_FOR_CLIENT, 1,                                  //
                               MHD_OPTION_END);
    if (daemon_ == nullptr) close(listening_socket);
    return daemon_ != nullptr;
  }

 private:
  /// Called when the headers are there, for each piece of a body, and at the end of the request.
  static MHD_Result OnRequest(void* self, MHD_Connection* connection, const char* path,
                              const char* method, const char* /*version*/, const char* /*upload*/,
                              size_t* upload_bytes, void** state) {
    static char seen;
    const bool begins = *state == nullptr;
    *state = &seen;
    // A body means nothing here: dropped as it comes.
    if (*upload_bytes != 0) {
      *upload_bytes = 0;
      return MHD_YES;
    }
    if (begins && !AnnouncesBody(connection)) return MHD_YES;
    return static_cast<MicrohttpdListener*>(self)->Answer(connection, path, method);
  }

  /// Such a request is answered before its body comes, and the connection then closed.
  static bool AnnouncesBody(MHD_Connection* connection) {
    for (const char* name : {MHD_HTTP_HEADER_CONTENT_LENGTH, MHD_HTTP_HEADER_TRANSFER_ENCODING}) {
      if (MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name) != nullptr) return true;
    }
    return false;
  }

  /// The border to C: no exception leaves.
  MHD_Result Answer(MHD_Connection* connection, const char* path, const char* method) noexcept {
    try {
      YieldToTheRun();
      return Queue(connection, answerer_(ReadRequest(connection, path, method)));
    } catch (const std::exception& error) {
      LogWarning("page: a request could not be answered: {}", error.what());
      return MHD_NO;  // the connection is closed
    }
  }

  const Answerer answerer_;
  MHD_Daemon* daemon_ = nullptr;
};

}  // namespace

StatusOr<std::unique_ptr<HttpListener>> HttpListener::Start(ListeningSocket socket,
                                                            Answerer answerer) {
  auto listener = std::make_unique<MicrohttpdListener>(std::move(answerer));
  if (!listener->Begin(socket.Release())) {
    return UnavailableError("the page cannot be served on {}: no threads to be had",
                            socket.address());
  }
  return std::unique_ptr<HttpListener>(std::move(listener));
}

}  // namespace interlude
