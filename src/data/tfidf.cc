// SPDX-License-Identifier: MIT
#include "data/tfidf.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tandem::data {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// English function words of at least two letters, and the pieces that tokenising leaves of "don't"
/// and the like.
constexpr auto kStopwords = std::to_array<std::string_view>(
    {"about", "above",   "after",     "again",   "against",    "all",   "also",     "am",
     "an",    "and",     "any",       "are",     "as",         "at",    "be",       "because",
     "been",  "before",  "being",     "below",   "between",    "both",  "but",      "by",
     "can",   "cannot",  "could",     "did",     "do",         "does",  "doing",    "don",
     "down",  "during",  "each",      "few",     "for",        "from",  "further",  "had",
     "has",   "have",    "having",    "he",      "her",        "here",  "hers",     "herself",
     "him",   "himself", "his",       "how",     "if",         "in",    "into",     "is",
     "isn",   "it",      "its",       "itself",  "just",       "ll",    "me",       "more",
     "most",  "must",    "my",        "myself",  "no",         "nor",   "not",      "now",
     "of",    "off",     "on",        "once",    "only",       "or",    "other",    "ought",
     "our",   "ours",    "ourselves", "out",     "over",       "own",   "re",       "same",
     "shall", "she",     "should",    "so",      "some",       "such",  "than",     "that",
     "the",   "their",   "theirs",    "them",    "themselves", "then",  "there",    "these",
     "they",  "this",    "those",     "through", "to",         "too",   "under",    "until",
     "up",    "upon",    "us",        "ve",      "very",       "was",   "we",       "were",
     "what",  "when",    "where",     "which",   "while",      "who",   "whom",     "why",
     "will",  "with",    "would",     "you",     "your",       "yours", "yourself", "yourselves"});

}  // namespace

bool is_stopword(std::string_view term) {
  return std::find(kStopwords.begin(), kStopwords.end(), term) != kStopwords.end();
}

Tfidf::Tfidf(const Corpus& corpus, std::span<const std::size_t> training,
             const TfidfOptions& options)
    : bias_(options.bias) {
  std::vector<std::size_t> frequency(corpus.terms.size());
  for (const std::size_t d : training) {
    for (const auto& [term, count] : corpus.documents[d].counts) ++frequency[term];
  }
  const std::vector<std::string>& terms = corpus.terms.all();
  std::vector<std::uint32_t> chosen;
  for (std::uint32_t term = 0; term < terms.size(); ++term) {
    if (frequency[term] < std::max<std::size_t>(1, options.min_documents)) continue;
    if (options.stopwords && is_stopword(terms[term])) continue;
    chosen.push_back(term);
  }
  const auto alphabetical = [&](std::uint32_t a, std::uint32_t b) { return terms[a] < terms[b]; };
  if (options.vocabulary > 0 && chosen.size() > options.vocabulary) {
    std::sort(chosen.begin(), chosen.end(), [&](std::uint32_t a, std::uint32_t b) {
      return frequency[a] != frequency[b] ? frequency[a] > frequency[b] : alphabetical(a, b);
    });
    chosen.resize(options.vocabulary);
  }
  std::sort(chosen.begin(), chosen.end(), alphabetical);

  column_.assign(terms.size(), kNone);
  const auto documents = static_cast<double>(training.size());
  for (const std::uint32_t term : chosen) {
    column_[term] = static_cast<std::uint32_t>(vocabulary_.size());
    vocabulary_.push_back(terms[term]);
    idf_.push_back(std::log((1 + documents) / (1 + static_cast<double>(frequency[term]))) + 1);
  }
}

Dataset Tfidf::encode(const Corpus& corpus, std::span<const std::size_t> documents,
                      const std::vector<std::string>& groups) const {
  Dataset data;
  data.rows = documents.size();
  data.features = vocabulary_.size() + (bias_ ? 1 : 0);
  data.classes = groups.size();
  data.class_names = groups;
  data.sparse = true;
  data.offsets.push_back(0);
  std::vector<std::pair<std::uint32_t, double>> row;
  for (const std::size_t d : documents) {
    const Document& document = corpus.documents[d];
    row.clear();
    double squares = 0;
    for (const auto& [term, count] : document.counts) {
      if (column_[term] == kNone) continue;
      const double weight = count * idf_[column_[term]];
      row.emplace_back(column_[term], weight);
      squares += weight * weight;
    }
    std::sort(row.begin(), row.end());
    const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
    for (const auto& [column, weight] : row) {
      data.columns.push_back(column);
      data.values.push_back(static_cast<float>(weight * scale));
    }
    if (bias_) {
      data.columns.push_back(static_cast<std::uint32_t>(vocabulary_.size()));
      data.values.push_back(1);
    }
    data.offsets.push_back(data.columns.size());
    const auto group = std::lower_bound(groups.begin(), groups.end(), document.group);
    data.labels.push_back(static_cast<std::uint32_t>(group - groups.begin()));
  }
  return data;
}

}  // namespace tandem::data
