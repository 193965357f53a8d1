// SPDX-License-Identifier: MIT
// 20 Newsgroups from archives and folders, and the TF-IDF of what they hold.
#include "data/newsgroups.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "data/test_files.h"
#include "data/tfidf.h"
#include "tests/temp_folder.h"

namespace tandem::data {
namespace {

const std::vector<ArchiveFile> kFiles = {
    {"20news-bydate-train/sci.space/2", "From: a\n\nThe rocket, the ROCKET!"},
    {"20news-bydate-train/rec.autos/1", "From: b\n\nThe car and the rocket"},
    {"./20news-bydate-test/rec.autos/9", "A car x"},
    {"20news-bydate-train/rec.autos/.DS_Store", "junk"}};

Corpus corpus_of(const std::string& bytes, Headers headers = Headers::keep) {
  return read_newsgroups_archive(std::make_unique<MemorySource>("news.tar", bytes), headers);
}

std::vector<std::string> terms_of(const std::string& text) {
  std::vector<std::string> terms;
  for_each_term(text, [&](std::string_view term) { terms.emplace_back(term); });
  return terms;
}

TEST(Newsgroups, CutsTerms) {
  EXPECT_EQ(terms_of("It's a (Small) test_case: 42, x\xe9y"),
            (std::vector<std::string>{"it", "small", "test_case", "42"}));
  EXPECT_EQ(terms_of(std::string(41, 'M') + " end"), (std::vector<std::string>{"end"}));
  EXPECT_TRUE(terms_of("").empty());
}

TEST(Newsgroups, ReadsAnArchive) {
  const Corpus corpus = corpus_of(pack(kFiles));
  ASSERT_EQ(corpus.documents.size(), 3U);
  EXPECT_EQ(corpus.documents[0].group, "rec.autos");  // sorted
  EXPECT_EQ(corpus.documents[1].group, "sci.space");
  EXPECT_FALSE(corpus.documents[1].test);
  EXPECT_TRUE(corpus.documents[2].test);
  EXPECT_EQ(corpus.documents[2].name, "9");
  ASSERT_EQ(corpus.documents[1].counts.size(), 3U);  // from, the, rocket
}

TEST(Newsgroups, StripsHeaders) {
  const Corpus corpus = corpus_of(pack(kFiles), Headers::strip);
  const auto& terms = corpus.terms.all();
  EXPECT_EQ(std::find(terms.begin(), terms.end(), "from"), terms.end());
  EXPECT_NE(std::find(terms.begin(), terms.end(), "rocket"), terms.end());
}

TEST(Newsgroups, ReadsFoldersAsItReadsTheArchive) {
  const tests::TempFolder folder;
  for (const ArchiveFile& file : kFiles) folder.write(file.path, file.content);
  const Corpus a = corpus_of(pack(kFiles));
  const Corpus b = read_newsgroups_folders(
      {folder / "20news-bydate-train", folder / "20news-bydate-test"}, Headers::keep);
  const std::vector<std::string> groups = {"rec.autos", "sci.space"};
  const std::vector<std::size_t> train = {0, 1};
  const TfidfOptions options{.vocabulary = 0, .min_documents = 1, .stopwords = true, .bias = true};
  EXPECT_EQ(Tfidf(a, train, options).encode(a, train, groups).fingerprint(),
            Tfidf(b, train, options).encode(b, train, groups).fingerprint());
}

TEST(Newsgroups, RefusesDamage) {
  expect_damage(
      [] {
        corpus_of(pack({{"file", "text"}}));
      },
      {"news.tar(file)", "outside of all folders", "PART/GROUP/NAME"});
  expect_damage([] { corpus_of(pack({{"a/b/1", "x"}, {"a/b/1", "y"}})); }, {"two documents 'b/1'"});
  expect_damage([] { corpus_of(pack({{"a/b/.hidden", "x"}})); }, {"no documents"});
  expect_damage(
      [] {
        corpus_of(pack({{"a/b/long", std::string((16 << 20) + 1, 'x')}}));
      },
      {"news.tar(a/b/long)", "more than 16777216 bytes"});
  expect_damage([] { corpus_of(pack({{"../b/1", "x"}})); }, {"stays inside"});
}

TEST(Tfidf, WeighsByTheTrainingDocuments) {
  const Corpus corpus = corpus_of(
      pack({{"t/a/1", "apple apple pear"}, {"t/b/2", "pear the"}, {"t-test/a/3", "apple plum"}}));
  const std::vector<std::size_t> train = {0, 1};
  const Tfidf tfidf(corpus, train,
                    {.vocabulary = 10, .min_documents = 1, .stopwords = true, .bias = true});
  EXPECT_EQ(tfidf.vocabulary(), (std::vector<std::string>{"apple", "pear"}));
  const Dataset data = tfidf.encode(corpus, all_rows(3), {"a", "b"});
  EXPECT_TRUE(data.sparse);
  EXPECT_EQ(data.features, 3U);
  EXPECT_EQ(data.offsets, (std::vector<std::uint64_t>{0, 3, 5, 7}));
  EXPECT_EQ(data.columns, (std::vector<std::uint32_t>{0, 1, 2, 1, 2, 0, 2}));
  const double apple = 2 * (std::log(3.0 / 2.0) + 1);
  const double pear = 1;  // in all documents
  const double length = std::hypot(apple, pear);
  EXPECT_NEAR(data.values[0], apple / length, 1e-7);
  EXPECT_NEAR(data.values[1], pear / length, 1e-7);
  EXPECT_EQ(data.values[3], 1.0F);
  EXPECT_EQ(data.values[4], 1.0F);  // the bias
  EXPECT_EQ(data.labels, (std::vector<std::uint32_t>{0, 1, 0}));
}

TEST(Tfidf, LimitsTheVocabulary) {
  const Corpus corpus = corpus_of(
      pack({{"t/a/1", "zebra common the"}, {"t/b/2", "common zebra"}, {"t/b/3", "common rare"}}));
  const auto vocabulary = [&](TfidfOptions options) {
    return Tfidf(corpus, all_rows(3), options).vocabulary();
  };
  using Terms = std::vector<std::string>;
  EXPECT_EQ(vocabulary({.vocabulary = 1, .min_documents = 1}), (Terms{"common"}));
  EXPECT_EQ(vocabulary({.vocabulary = 2, .min_documents = 1}), (Terms{"common", "zebra"}));
  EXPECT_EQ(vocabulary({.vocabulary = 0, .min_documents = 2}), (Terms{"common", "zebra"}));
  EXPECT_EQ(vocabulary({.vocabulary = 0, .min_documents = 1, .stopwords = false}),
            (Terms{"common", "rare", "the", "zebra"}));
}

}  // namespace
}  // namespace tandem::data
