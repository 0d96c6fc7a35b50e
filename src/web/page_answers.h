// What the live page answers to a request, and to whom. No sockets; any thread.
#pragma once

#include <memory>
#include <string>

#include "web/fresh_text.h"
#include "web/http.h"

namespace interlude {

/// Whether `if_none_match` (a request's header) names `tag`, or anything by "*".
bool NamesTag(const std::string& if_none_match, const std::string& tag);

class PageAnswers {
 public:
  struct Rules {
    /// Empty: whoever reaches the page may read it.
    std::string token;
    /// Only requests that call this machine localhost or by a loopback address are answered, so
    /// that a web page from elsewhere cannot read through a name that it points here.
    bool loopback_only = true;
    /// The cookie that holds the token once it was given in the address.
    std::string cookie;
  };

  /// All but the rules outlive it.
  PageAnswers(Rules rules, FreshText& report, FreshText& metrics);

  /// GET and HEAD of /, /report.json, /metrics and /healthz; anything else is an error's status and
  /// a line of text. Every answer has the headers that keep browsers from storing, guessing and
  /// embedding it. May take as long as making a report.
  HttpAnswer Answer(const HttpRequest& request);

 private:
  HttpAnswer AnswerAllowed(const HttpRequest& request);
  bool MayRead(const HttpRequest& request) const;
  HttpAnswer Page(const HttpRequest& request) const;
  HttpAnswer KeepToken() const;
  HttpAnswer Fresh(const HttpRequest& request, FreshText& text, const char* type) const;

  const Rules rules_;
  FreshText& report_;
  FreshText& metrics_;
  const std::shared_ptr<const std::string> page_;
  const std::string page_policy_;  // its Content-Security-Policy
};

}  // namespace interlude
