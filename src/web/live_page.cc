#include "web/live_page.h"

#include <utility>

#include "base/address.h"
#include "base/log.h"
#include "web/fresh_text.h"
#include "web/http_listener.h"
#include "web/page_answers.h"
#include "web/run_texts.h"

namespace interlude {
namespace {

Status CheckExposure(const LivePageOptions& options) {
  if (IsLoopback(options.address) || !options.token.empty() || options.insecure) return OkStatus();
  return InvalidArgumentError(
      "other machines can reach {}, and without a token anybody there could read the page: give "
      "--keys DIR with a page.token in it (interlude keys init makes one), give --insecure on a "
      "network that you trust wholly, or 127.0.0.1 and reach it through an ssh tunnel",
      options.address);
}

/// Cookies of a host are sent to all its ports: two pages on one host keep theirs apart.
std::string CookieName(const std::string& address) {
  return "interlude_page_" + address.substr(HostOf(address).size() + 1);
}

class LivePageImpl final : public LivePage {
 public:
  explicit LivePageImpl(const Clock& clock) : report_(clock), metrics_(clock) {}

  Status Begin(const LivePageOptions& options) {
    INTERLUDE_RETURN_IF_ERROR(CheckExposure(options));
    const bool loopback = IsLoopback(options.address);
    INTERLUDE_ASSIGN_OR_RETURN(ListeningSocket socket, ListeningSocket::Open(options.address));
    address_ = socket.address();
    answers_ =
        std::make_unique<PageAnswers>(PageAnswers::Rules{.token = loopback ? "" : options.token,
                                                         .loopback_only = loopback,
                                                         .cookie = CookieName(address_)},
                                      report_, metrics_);
    INTERLUDE_ASSIGN_OR_RETURN(
        listener_, HttpListener::Start(std::move(socket), [this](const HttpRequest& request) {
          return answers_->Answer(request);
        }));
    if (!loopback) {
      LogWarning(
          "the page on {} is plain http: whoever can listen on the network reads it{}; put TLS or "
          "an ssh tunnel before it",
          address_, options.token.empty() ? "" : " and its token");
    }
    return OkStatus();
  }

  const std::string& address() const override { return address_; }

  void Show(const std::string& directory) override {
    report_.SetSource(MakeReportSource(directory));
    metrics_.SetSource(MakeMetricsSource(directory));
  }

  void Hide() override {
    report_.SetSource(nullptr);
    metrics_.SetSource(nullptr);
  }

 private:
  FreshText report_;
  FreshText metrics_;
  std::string address_;
  std::unique_ptr<PageAnswers> answers_;
  std::unique_ptr<HttpListener> listener_;  // ends first: it uses all of the above
};

}  // namespace

StatusOr<std::unique_ptr<LivePage>> LivePage::Start(const LivePageOptions& options,
                                                    const Clock& clock) {
  auto page = std::make_unique<LivePageImpl>(clock);
  INTERLUDE_RETURN_IF_ERROR(page->Begin(options));
  return std::unique_ptr<LivePage>(std::move(page));
}

}  // namespace interlude
