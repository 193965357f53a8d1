// SPDX-License-Identifier: MIT
// Writes a few good files of each format for the fuzzers to start from: seeds FOLDER.
#include <filesystem>
#include <fstream>
#include <string>

#include "data/sample_files.h"

namespace {

using namespace tandem::data;
namespace fs = std::filesystem;

fs::path root;

void seed(const std::string& fuzzer, const std::string& name, const std::string& bytes) {
  fs::create_directories(root / fuzzer);
  std::ofstream(root / fuzzer / name, std::ios::binary) << bytes;
}

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

void binary_formats() {
  seed("idx", "images", idx_file({2, 2, 2}, "12345678"));
  seed("idx", "labels", idx_file({3}, "123"));
  const std::string sizes =
      little_endian(1) + little_endian(2) + little_endian(2) + little_endian(2);
  seed("norb", "bytes", little_endian(0x1E3D4C55) + little_endian(4) + sizes + "12345678");
  seed("norb", "ints",
       little_endian(0x1E3D4C54) + little_endian(1) + little_endian(2) + little_endian(1) +
           little_endian(1) + "12345678");
  // dim, hidden, layers, heads, kv_heads, vocabulary, sequence, and no weights.
  std::string llama;
  for (const unsigned number : {8U, 12U, 2U, 4U, 2U, 11U, 16U}) llama += little_endian(number);
  seed("llama2c", "tied", llama);
  std::string small;
  for (const unsigned number : {2U, 1U, 1U, 1U, 1U, -1U, 1U}) small += little_endian(number);
  seed("llama2c", "untied", small + std::string(4 * (2 * 2 + 4 + 16 + 6 + 2 + 2), 'w'));
  seed("cifar", "two", repeated(std::string(1, '\5') + std::string(3072, 'p'), 2));
}

void text_formats() {
  seed("libsvm", "two", "+1 1:0.5 3:-2e-3 # x\n-1 2:1\n+1 1:0.5 7:1\n-1 2:1 3:4\n");
  seed("csv", "mixed", "x,word,y\n1.5,\"a \"\"b\"\"\",yes\n-2,c,no\n3e2,c,yes\n");
  seed("csv", "numbers", "a,b,c\r\n1,2,3\r\n4,5,6\r\n");
  const std::string properties = repeated("0,", 43) + "1,";
  seed("covtype", "two", repeated(repeated("123,", 10) + properties + "7\n", 2));
  const std::string kdd = "0,tcp,http,SF" + repeated(",0.5", 37);
  seed("nsl_kdd", "txt", kdd + ",normal,21\n" + kdd + ",neptune,3\n");
  seed("nsl_kdd", "csv", kdd + ",anomaly\n" + kdd + ",normal\n");
}

void language() {
  seed("alpaca", "two",
       R"([{"instruction":"Add \u00e9","input":"1\n2","output":"3"},)"
       R"({"output":"x","instruction":"","id":[1,{"a":null}]}])");
  seed("alpaca", "empty", R"([{"instruction":"a","output":" "},{"instruction":"b","output":"c"}])");
  const auto token = [](const std::string& text) {
    return little_endian(0x3F800000) + little_endian(static_cast<std::uint32_t>(text.size())) +
           text;
  };
  seed("tokenizer", "three", "\3" + token("a") + token("b") + token("ab"));
  seed("tokenizer", "wide", "\4" + token(" ") + token("\xc3\xa9") + token(" \xc3\xa9") + token(""));
  seed("tokenizer", "model",
       "\x0a\x0c\x0a\x05<unk>\x15" + little_endian(0) + "\x12\x02\x18\x02\x1a\x02\x20" +
           std::string(1, '\0'));
}

void archives() {
  const std::vector<ArchiveFile> files = {{"20news-bydate-train", "", AE_IFDIR},
                                          {"20news-bydate-train/a/1", "From: x\n\nsome words"},
                                          {"20news-bydate-train/b/2", "From: y\n\nother words"},
                                          {"20news-bydate-test/a/3", "words"}};
  const std::string tar = pack(files);
  seed("newsgroups", "tar", tar);
  seed("newsgroups", "zip", pack(files, true));
  seed("newsgroups", "tar.gz", gzip(tar));
  seed("newsgroups", "tar.xz", xz(tar));
  seed("newsgroups", "escape", pack({{"../a/1", "x"}, {"link", "/", AE_IFLNK}}));
  const std::string text = repeated("The quick brown fox. ", 20);
  seed("compressed", "gz", gzip(text));
  seed("compressed", "two.gz", gzip(text) + gzip("more"));
  seed("compressed", "xz", xz(text));
  seed("compressed", "two.xz", xz(text) + xz("more"));
  seed("compressed", "zeros.gz", gzip(std::string(1 << 20, '\0')));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  root = argv[1];
  binary_formats();
  text_formats();
  language();
  archives();
}
