// SPDX-License-Identifier: MIT
#include "data/nsl_kdd.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "data/csv.h"
#include "data/fail.h"
#include "data/fields.h"
#include "data/line_reader.h"

namespace tandem::data {
namespace {

constexpr std::array<const char*, 41> kNames = {"duration",
                                                "protocol_type",
                                                "service",
                                                "flag",
                                                "src_bytes",
                                                "dst_bytes",
                                                "land",
                                                "wrong_fragment",
                                                "urgent",
                                                "hot",
                                                "num_failed_logins",
                                                "logged_in",
                                                "num_compromised",
                                                "root_shell",
                                                "su_attempted",
                                                "num_root",
                                                "num_file_creations",
                                                "num_shells",
                                                "num_access_files",
                                                "num_outbound_cmds",
                                                "is_host_login",
                                                "is_guest_login",
                                                "count",
                                                "srv_count",
                                                "serror_rate",
                                                "srv_serror_rate",
                                                "rerror_rate",
                                                "srv_rerror_rate",
                                                "same_srv_rate",
                                                "diff_srv_rate",
                                                "srv_diff_host_rate",
                                                "dst_host_count",
                                                "dst_host_srv_count",
                                                "dst_host_same_srv_rate",
                                                "dst_host_diff_srv_rate",
                                                "dst_host_same_src_port_rate",
                                                "dst_host_srv_diff_host_rate",
                                                "dst_host_serror_rate",
                                                "dst_host_srv_serror_rate",
                                                "dst_host_rerror_rate",
                                                "dst_host_srv_rerror_rate"};

bool is_word(std::size_t column) { return column >= 1 && column <= 3; }

class Reader {
 public:
  explicit Reader(ByteSource& source) : lines_(source, 4096) {
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      table_.columns.push_back({.name = kNames[i], .categorical = is_word(i)});
    }
    table_.classes.add("normal");
    table_.classes.add("attack");
  }

  Table read() {
    std::size_t width = 0;
    for (std::string_view line; lines_.next(line);) {
      if (trim(line).empty()) continue;
      const auto* fields = splitter_.split(line);
      if (fields == nullptr) stop("", "a quote without its end", "fields between commas");
      if (width == 0 && fields->front() == kNames.front()) continue;  // a header
      const std::size_t count = fields->size();
      if (count != kNames.size() + 1 && count != kNames.size() + 2) {
        stop("", fmt::format("{} fields", count),
             "42 (41 and normal or anomaly) or 43 (41, attack and difficulty)");
      }
      if (width == 0) width = count;
      if (count != width) {
        stop("", fmt::format("{} fields", count), fmt::format("{}, as in the first line", width));
      }
      read_row(*fields);
    }
    if (table_.rows() == 0)
      fail<DataError>(lines_.name(), "", "no rows", "lines of 42 or 43 fields");
    return std::move(table_);
  }

 private:
  void read_row(const std::vector<std::string_view>& fields) {
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      Column& column = table_.columns[i];
      const std::optional<double> number = parse_number(fields[i]);
      if (is_word(i)) {
        if (fields[i].empty() || number) stop(kNames[i], shown(fields[i]), "a word");
        column.ids.push_back(column.words.add(fields[i]));
        if (column.words.size() > kMostWords) {
          stop(kNames[i], fmt::format("more than {} different words", kMostWords), "fewer");
        }
      } else {
        if (!number) stop(kNames[i], shown(fields[i]), "a finite number");
        column.numbers.push_back(*number);
      }
    }
    const std::string_view label = fields[kNames.size()];
    if (label.empty() || parse_number(label)) {
      stop("label", shown(label), "normal, anomaly or the name of an attack");
    }
    table_.labels.push_back(label == "normal" ? 0 : 1);
    if (fields.size() == kNames.size() + 2 && !parse_count(fields.back())) {
      stop("difficulty", shown(fields.back()), "a whole number");
    }
  }

  [[noreturn]] void stop(std::string_view column, std::string_view found,
                         std::string_view expected) const {
    const std::uint64_t line = lines_.number();
    fail<DataError>(lines_.name(), column.empty() ? at_line(line) : at_line(line, column), found,
                    expected);
  }

  LineReader lines_;
  FieldSplitter splitter_;
  Table table_;
};

}  // namespace

Table read_nsl_kdd(ByteSource& source) { return Reader(source).read(); }

}  // namespace tandem::data
