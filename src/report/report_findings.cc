// The findings in the terminal report.
#include <fmt/format.h>

#include <string_view>

#include "report/report_text.h"
#include "report/table.h"

namespace interlude::internal {
namespace {

std::string Savings(const Finding& finding) {
  if (finding.saves_ns_per_round <= 0) return "";
  return fmt::format("; mending it saves {} per round, {:.1f} %",
                     HumanSeconds(static_cast<double>(finding.saves_ns_per_round) * 1e-9),
                     100 * finding.round_share);
}

/// The findings' one sign that is not ASCII, for terminals.
std::string Plain(std::string text) {
  static constexpr std::string_view kMicro = "\u00b5s";
  for (size_t at = text.find(kMicro); at != std::string::npos; at = text.find(kMicro))
    text.replace(at, kMicro.size(), "us");
  return Printable(text);
}

}  // namespace

std::string Paragraph(const std::string& text, size_t indent) {
  return std::string(indent, ' ') + Wrap(Plain(text), kReportWidth - indent, indent + 2);
}

std::string FindingText(const Finding& finding) { return finding.text + Savings(finding); }

std::string FindingsSection(const RunSummary& run) {
  std::string text;
  for (const Finding& finding : run.findings) {
    text += Paragraph("* " + FindingText(finding), 2);
    for (const std::string& evidence : finding.evidence) text += Paragraph(evidence, 6);
    if (!finding.try_this.empty()) text += Paragraph("Try: " + finding.try_this, 6);
  }
  return text;
}

}  // namespace interlude::internal
