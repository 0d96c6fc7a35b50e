#include "images/csv_text.h"

#include <utility>

namespace interlude {
namespace {

class Reader {
 public:
  Reader(std::string_view text, std::string_view source) : text_(text), source_(source) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  }

  StatusOr<std::vector<CsvRow>> Rows() {
    std::vector<CsvRow> rows;
    while (at_ < text_.size()) {
      CsvRow row{.line = line_};
      INTERLUDE_RETURN_IF_ERROR(ReadRow(row));
      if (row.fields.size() > 1 || !row.fields.front().empty()) rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  bool AtEnd() const { return at_ == text_.size(); }
  bool AtLineEnd() const {
    return AtEnd() || text_[at_] == '\n' ||
           (text_[at_] == '\r' && (at_ + 1 == text_.size() || text_[at_ + 1] == '\n'));
  }

  // Up to and with the line's end.
  Status ReadRow(CsvRow& row) {
    while (true) {
      if (row.fields.size() == kMostCsvFields) {
        return InvalidArgumentError("{}:{}: more than {} fields; is this a CSV file?", source_,
                                    line_, kMostCsvFields);
      }
      std::string field;
      if (!AtEnd() && text_[at_] == '"') {
        INTERLUDE_RETURN_IF_ERROR(ReadQuoted(field));
      } else {
        INTERLUDE_RETURN_IF_ERROR(ReadPlain(field));
      }
      row.fields.push_back(std::move(field));
      if (AtLineEnd()) break;
      ++at_;  // the comma
    }
    if (!AtEnd() && text_[at_] == '\r') ++at_;
    if (!AtEnd()) ++at_;
    ++line_;
    return OkStatus();
  }

  Status ReadPlain(std::string& field) {
    while (!AtLineEnd() && text_[at_] != ',') {
      if (text_[at_] == '\0') return ZeroByte();
      field += text_[at_++];
    }
    return OkStatus();
  }

  Status ReadQuoted(std::string& field) {
    const uint32_t first_line = line_;
    for (++at_; !AtEnd(); ++at_) {
      const char c = text_[at_];
      if (c == '\0') return ZeroByte();
      if (c == '\n') ++line_;
      if (c != '"') {
        field += c;
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
        field += text_[++at_];
      } else {
        ++at_;
        if (AtLineEnd() || text_[at_] == ',') return OkStatus();
        return InvalidArgumentError(
            "{}:{}: text after a closing quote; write a quote inside a field twice", source_,
            line_);
      }
    }
    return InvalidArgumentError("{}:{}: a quote is not closed", source_, first_line);
  }

  Status ZeroByte() const {
    return InvalidArgumentError("{}:{}: a zero byte; write the file in UTF-8", source_, line_);
  }

  const std::string_view text_;
  const std::string_view source_;
  size_t at_ = 0;
  uint32_t line_ = 1;
};

}  // namespace

StatusOr<std::vector<CsvRow>> ReadCsv(std::string_view text, std::string_view source) {
  return Reader(text, source).Rows();
}

}  // namespace interlude
