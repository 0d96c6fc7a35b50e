// A request for the live page and its answer, as plain values: what the transport (http_listener.h)
// hands to who decides (page_answers.h).
#pragma once

#include <strings.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace interlude {

struct IgnoringCase {
  bool operator()(const std::string& a, const std::string& b) const {
    return strcasecmp(a.c_str(), b.c_str()) < 0;
  }
};

struct HttpRequest {
  using Fields = std::map<std::string, std::string>;

  std::string method;  // as it came: methods are told apart by case
  std::string path;    // without the query; percent signs are decoded
  /// A header that came twice has both values, with ", " between: for a name such as Host that is
  /// a value which nobody expects.
  std::map<std::string, std::string, IgnoringCase> headers;
  Fields query;
  Fields cookies;

  /// "" when there is none.
  std::string Header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

struct HttpAnswer {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  /// Shared, so that one text goes to many browsers; null: nothing.
  std::shared_ptr<const std::string> body;
};

}  // namespace interlude
