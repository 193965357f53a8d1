// SPDX-License-Identifier: MIT
#include "data/newsgroups.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "data/archive.h"
#include "data/fail.h"

namespace tandem::data {
namespace {

constexpr std::size_t kLongestDocument = std::size_t{16} << 20;

std::vector<std::string_view> components(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0 && path.substr(0, end) != ".") parts.push_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

std::string_view without_headers(std::string_view text) {
  const std::size_t unix_end = text.find("\n\n");
  const std::size_t dos_end = text.find("\r\n\r\n");
  const std::size_t end = std::min(unix_end, dos_end);
  return end == std::string_view::npos ? text : text.substr(end);
}

class CorpusBuilder {
 public:
  explicit CorpusBuilder(Headers headers) : headers_(headers) {}

  void add(ByteSource& source, std::string_view path) {
    const std::vector<std::string_view> parts = components(path);
    if (parts.empty() || parts.back().starts_with('.')) return;  // what file managers leave behind
    if (parts.size() < 2) {
      fail<DataError>(source.name(), "", "a file outside of all folders", "PART/GROUP/NAME");
    }
    Document document{.group = std::string(parts[parts.size() - 2]),
                      .name = std::string(parts.back())};
    if (parts.size() >= 3) document.test = parts[parts.size() - 3].ends_with("test");
    const std::size_t length = read_text(source);
    if (length > kLongestDocument) {
      fail<DataError>(source.name(), "", fmt::format("more than {} bytes", kLongestDocument),
                      "a shorter document");
    }
    std::string_view text(reinterpret_cast<const char*>(text_.data()), length);
    if (headers_ == Headers::strip) text = without_headers(text);
    std::vector<std::uint32_t> terms;
    for_each_term(text, [&](std::string_view term) { terms.push_back(corpus_.terms.add(term)); });
    std::sort(terms.begin(), terms.end());
    for (const std::uint32_t term : terms) {
      if (document.counts.empty() || document.counts.back().first != term) {
        document.counts.emplace_back(term, 0);
      }
      ++document.counts.back().second;
    }
    corpus_.documents.push_back(std::move(document));
  }

  Corpus finish(std::string_view name) {
    if (corpus_.documents.empty())
      fail<DataError>(name, "", "no documents", "files in PART/GROUP/NAME");
    const auto key = [](const Document& d) { return std::tie(d.test, d.group, d.name); };
    std::sort(corpus_.documents.begin(), corpus_.documents.end(),
              [&](const Document& a, const Document& b) { return key(a) < key(b); });
    for (std::size_t i = 1; i < corpus_.documents.size(); ++i) {
      const Document& document = corpus_.documents[i];
      if (key(corpus_.documents[i - 1]) == key(document)) {
        fail<DataError>(
            name, "", fmt::format("two documents {}", shown(document.group + "/" + document.name)),
            "each once");
      }
    }
    return std::move(corpus_);
  }

 private:
  /// Into text_, which grows with the longest document; stops soon after the limit.
  std::size_t read_text(ByteSource& source) {
    std::size_t length = 0;
    for (;;) {
      if (length == text_.size()) text_.resize(std::max<std::size_t>(16 << 10, 2 * length));
      const std::size_t room = text_.size() - length;
      const std::size_t got = source.read(std::span(text_).subspan(length));
      length += got;
      if (got < room || length > kLongestDocument) return length;
    }
  }

  Headers headers_;
  Corpus corpus_;
  std::vector<std::uint8_t> text_;
};

}  // namespace

Corpus read_newsgroups_archive(std::unique_ptr<ByteSource> source, Headers headers) {
  const std::string name = source->name();
  ArchiveReader archive(std::move(source));
  CorpusBuilder builder(headers);
  while (archive.next()) builder.add(archive.content(), archive.path());
  return builder.finish(name);
}

Corpus read_newsgroups_folders(const std::vector<std::filesystem::path>& parts, Headers headers) {
  CorpusBuilder builder(headers);
  try {
    for (const std::filesystem::path& part : parts) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(part)) {
        if (!entry.is_regular_file()) continue;
        const auto source = open_raw(entry.path());
        const auto inside = entry.path().lexically_relative(part);
        builder.add(*source, (part.filename() / inside).generic_string());
      }
    }
  } catch (const std::filesystem::filesystem_error& error) {
    throw DataError(fmt::format("{}: {}", error.path1().string(), error.code().message()));
  }
  return builder.finish(parts.empty() ? "" : parts.front().string());
}

}  // namespace tandem::data
