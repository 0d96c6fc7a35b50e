#include "cli/worker_program/prediction_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace interlude {

namespace {

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

}  // namespace

std::string PredictionText(const FilePrediction& prediction,
                           const std::vector<std::string>& names) {
  std::string text = WithoutControls(prediction.file) + "\n";
  for (const ClassProbability& one : prediction.top) {
    text += fmt::format("  {:6.2f} %  {}\n", 100 * one.probability,
                        WithoutControls(ClassName(names, one.label)));
  }
  return text;
}

std::string PredictionJson(const FilePrediction& prediction,
                           const std::vector<std::string>& names) {
  using Json = nlohmann::ordered_json;
  Json top = Json::array();
  for (const ClassProbability& one : prediction.top) {
    top.push_back({{"class", ClassName(names, one.label)},
                   {"label", one.label},
                   {"probability", one.probability}});
  }
  const Json json = {{"file", prediction.file}, {"top", std::move(top)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string PredictionCsvHeader(size_t top) {
  std::string line = "file";
  for (size_t i = 1; i <= top; ++i) line += fmt::format(",class_{},probability_{}", i, i);
  return line + "\n";
}

std::string PredictionCsv(const FilePrediction& prediction, const std::vector<std::string>& names) {
  std::string line = CsvField(prediction.file);
  for (const ClassProbability& one : prediction.top) {
    line += fmt::format(",{},{}", CsvField(ClassName(names, one.label)), one.probability);
  }
  return line + "\n";
}

std::string WithoutControls(std::string_view text) {
  std::string safe;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (byte == 0xC2 && next >= 0x80 && next < 0xA0) {
      safe += '?';
      ++i;
    } else {
      safe += byte < 0x20 || byte == 0x7F ? '?' : text[i];
    }
  }
  return safe;
}

}  // namespace interlude
