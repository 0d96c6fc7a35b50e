#include "web/page_answers.h"

#include <string_view>

#include "base/address.h"
#include "base/secret.h"
#include "report/html_report.h"

namespace interlude {
namespace {

constexpr char kText[] = "text/plain; charset=utf-8";
constexpr char kHtml[] = "text/html; charset=utf-8";
constexpr char kJson[] = "application/json";
constexpr char kOpenMetrics[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";
constexpr int kPollMs = 2000;

HttpAnswer WithType(int status, const char* type, std::shared_ptr<const std::string> body) {
  return {status, {{"Content-Type", type}}, std::move(body)};
}

HttpAnswer Line(int status, const std::string& text) {
  return WithType(status, kText, std::make_shared<const std::string>(text + "\n"));
}

/// What the document says of itself, to be said by a header too: that cannot be parsed away, and
/// frame-ancestors counts only there.
std::string PolicyOf(std::string_view page) {
  constexpr std::string_view kBefore = "http-equiv=\"Content-Security-Policy\" content=\"";
  const size_t begin = page.find(kBefore);
  INTERLUDE_CHECK(begin != std::string_view::npos, "the page has no Content-Security-Policy");
  page.remove_prefix(begin + kBefore.size());
  return std::string(page.substr(0, page.find('"'))) + "; frame-ancestors 'none'";
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// The token in "Bearer TOKEN"; the word is told by no case.
std::string BearerOf(const std::string& authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  if (authorization.size() < kScheme.size() ||
      strncasecmp(authorization.data(), kScheme.data(), kScheme.size()) != 0) {
    return "";
  }
  return std::string(Trimmed(std::string_view(authorization).substr(kScheme.size())));
}

/// Whether a Host header calls this machine by a name that no other has.
bool NamesLoopback(std::string_view host) {
  const std::string_view name = HostOf(host);
  const std::string_view port = host.substr(name.size());
  return IsLoopbackHost(name) && port.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

bool Has(const HttpAnswer& answer, std::string_view name) {
  for (const auto& [has, value] : answer.headers)
    if (has == name) return true;
  return false;
}

}  // namespace

bool NamesTag(const std::string& if_none_match, const std::string& tag) {
  std::string_view rest = if_none_match;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');  // our tags have none
    std::string_view item = Trimmed(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
    if (item.starts_with("W/")) item.remove_prefix(2);
    if (item == tag || item == "*") return true;
  }
  return false;
}

PageAnswers::PageAnswers(Rules rules, FreshText& report, FreshText& metrics)
    : rules_(std::move(rules)),
      report_(report),
      metrics_(metrics),
      page_(std::make_shared<const std::string>(FormatLivePage("report.json", kPollMs))),
      page_policy_(PolicyOf(*page_)) {}

HttpAnswer PageAnswers::Answer(const HttpRequest& request) {
  HttpAnswer answer = AnswerAllowed(request);
  if (!Has(answer, "Content-Security-Policy")) {
    answer.headers.emplace_back("Content-Security-Policy",
                                "default-src 'none'; frame-ancestors 'none'");
  }
  for (const auto& [name, value] :
       {std::pair("Cache-Control", "no-store"), std::pair("X-Content-Type-Options", "nosniff"),
        std::pair("Referrer-Policy", "no-referrer"),
        std::pair("Cross-Origin-Resource-Policy", "same-origin")}) {
    answer.headers.emplace_back(name, value);
  }
  return answer;
}

HttpAnswer PageAnswers::AnswerAllowed(const HttpRequest& request) {
  if (request.method != "GET" && request.method != "HEAD") {
    HttpAnswer answer = Line(405, "only GET and HEAD");
    answer.headers.emplace_back("Allow", "GET, HEAD");
    return answer;
  }
  if (rules_.loopback_only && !NamesLoopback(request.Header("Host")))
    return Line(403, "this page answers to localhost and 127.0.0.1 only, not to another name");
  if (request.path == "/healthz") return Line(200, "ok");
  if (!MayRead(request)) {
    HttpAnswer answer = Line(401,
                             "the page's token is needed: page.token of the coordinator's keys, as "
                             "/?token=... in a browser, else as Authorization: Bearer ...");
    answer.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"interlude\"");
    return answer;
  }
  if (request.path == "/") return Page(request);
  if (request.path == "/report.json") return Fresh(request, report_, kJson);
  if (request.path == "/metrics") return Fresh(request, metrics_, kOpenMetrics);
  return Line(404, "there are only /, /report.json, /metrics and /healthz");
}

bool PageAnswers::MayRead(const HttpRequest& request) const {
  if (rules_.token.empty()) return true;
  if (request.path == "/") {
    const auto given = request.query.find("token");
    if (given != request.query.end()) return EqualInConstantTime(rules_.token, given->second);
  }
  const auto cookie = request.cookies.find(rules_.cookie);
  if (cookie != request.cookies.end() && EqualInConstantTime(rules_.token, cookie->second))
    return true;
  return EqualInConstantTime(rules_.token, BearerOf(request.Header("Authorization")));
}

HttpAnswer PageAnswers::Page(const HttpRequest& request) const {
  if (!rules_.token.empty() && request.query.contains("token")) return KeepToken();
  HttpAnswer answer = WithType(200, kHtml, page_);
  answer.headers.emplace_back("Content-Security-Policy", page_policy_);
  return answer;
}

HttpAnswer PageAnswers::KeepToken() const {
  // Not a redirect: after a link in a mail a browser would leave a strict cookie out of it.
  HttpAnswer answer = WithType(200, kHtml,
                               std::make_shared<const std::string>(
                                   "<!doctype html><html lang=\"en\"><title>interlude</title>"
                                   "<meta http-equiv=\"refresh\" content=\"0;url=/\">"
                                   "<a href=\"/\">The page</a></html>\n"));
  answer.headers.emplace_back(
      "Set-Cookie", rules_.cookie + "=" + rules_.token + "; Path=/; HttpOnly; SameSite=Strict");
  return answer;
}

HttpAnswer PageAnswers::Fresh(const HttpRequest& request, FreshText& text, const char* type) const {
  const FreshText::Result fresh = text.Get();
  if (!fresh.ok()) {
    if (fresh.status().code() == StatusCode::kUnavailable)
      return Line(503, fresh.status().message());
    return Line(503, "the run's record cannot be read; the coordinator's log says why");
  }
  const std::shared_ptr<const TaggedText>& tagged = *fresh;
  const bool same = NamesTag(request.Header("If-None-Match"), tagged->tag);
  HttpAnswer answer =
      same ? HttpAnswer{304, {}, nullptr}
           : WithType(200, type, std::shared_ptr<const std::string>(tagged, &tagged->text));
  answer.headers.emplace_back("ETag", tagged->tag);
  return answer;
}

}  // namespace interlude
