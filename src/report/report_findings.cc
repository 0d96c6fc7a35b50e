// The findings in the terminal report.
#include <fmt/format.h>

#include "base/human_text.h"
#include "report/report_text.h"
#include "report/table.h"

namespace interlude::internal {
namespace {

std::string Savings(const Finding& finding) {
  if (finding.saves_ns_per_round <= 0) return "";
  return fmt::format("; mending it saves {} per round, {:.1f} %",
                     HumanNs(finding.saves_ns_per_round), 100 * finding.round_share);
}

}  // namespace

std::string Paragraph(const std::string& text, size_t indent) {
  return std::string(indent, ' ') + Wrap(Printable(text), kReportWidth - indent, indent + 2);
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
