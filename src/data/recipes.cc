// SPDX-License-Identifier: MIT
// The table itself. Digests are those of the publishers' files; where only the content is known
// (their archives were packed anew more than once), only that is given.
#include "data/recipe.h"

namespace tandem::data {
namespace {

const char* const kBias = "a column of ones, last";
const char* const kScale =
    "numbers by the training rows: standard (mean 0 and deviation 1), unit (from 0 to 1), none";

std::vector<FileInfo> idx_files(const std::string& url, const std::vector<std::string>& packed,
                                const std::vector<std::string>& content) {
  const std::vector<std::string> names = {"train-images-idx3-ubyte.gz",
                                          "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz",
                                          "t10k-labels-idx1-ubyte.gz"};
  std::vector<FileInfo> files;
  for (std::size_t i = 0; i < names.size(); ++i) {
    files.push_back({names[i], url + names[i], packed[i], content[i]});
  }
  return files;
}

FileInfo norb_file(const std::string& part, const std::string& kind, const std::string& packed,
                   const std::string& content, bool optional = false) {
  const std::string name = "smallnorb-5x" + part + "-" + kind + ".mat.gz";
  return {name, "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/" + name, packed, content,
          optional};
}

Recipe mnist() {
  return {
      .name = "mnist",
      .argument = "",
      .summary = "handwritten digits, 28 x 28 padded to 32 x 32",
      .folders = {"mnist"},
      .files = idx_files("https://ossci-datasets.s3.amazonaws.com/mnist/",
                         {"f68b3c2dcbeaaa9fbdd348bbdeb94873", "d53e105ee54ea40749a09fcbcd1e9432",
                          "9fb629c4189551a2d022fa330f9573f3", "ec29112dd5afa0611ce80d1b7f02629c"},
                         {"6bbc9ace898e44ae57da46a324031adb", "a25bea736e30d166cdddb491f175f624",
                          "2646ac647ad5339dbf082846283269ea", "27ae3e4e09519cfbb04c329615203637"}),
      .unpacked = {},
      .page = "https://yann.lecun.com/exdb/mnist/",
      .reference = "LeCun, Bottou, Bengio and Haffner 1998",
      .options = {{"pad", "2", "zeros around each image"}, {"bias", "on", kBias}},
      .load = load_idx_images};
}

Recipe fashion_mnist() {
  return {
      .name = "fashion-mnist",
      .argument = "",
      .summary = "articles of clothing, 28 x 28 padded to 32 x 32",
      .folders = {"fashion-mnist", "fashion"},
      .files =
          idx_files("https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
                    {"8d4fb7e6c68d591d4c3dfef9ec88bf0d", "25c81989df183df01b3e8a0aad5dffbe",
                     "bef4ecab320f06d8554ea6380940ec79", "bb300cfdad3c16e7a12a480ee83cd310"},
                    {"f4a8712d7a061bf5bd6d2ca38dc4d50a", "9018921c3c673c538a1fc5bad174d6f9",
                     "8181f5470baa50b63fa0f6fddb340f0a", "15d484375f8d13e6eb1aabb0c3f46965"}),
      .unpacked = {},
      .page = "https://github.com/zalandoresearch/fashion-mnist (Debian: dataset-fashion-mnist)",
      .reference = "Xiao, Rasul and Vollgraf 2017",
      .options = {{"pad", "2", "zeros around each image"}, {"bias", "on", kBias}},
      .load = load_idx_images};
}

Recipe covtype() {
  return {.name = "covtype",
          .argument = "",
          .summary = "forest cover types: 10 numbers and 44 yes-or-no properties as 98 inputs",
          .folders = {"covtype"},
          .files =
              {{"covtype.data.gz",
                "https://archive.ics.uci.edu/ml/machine-learning-databases/covtype/covtype.data.gz",
                "614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771", ""}},
          .unpacked = {},
          .page = "https://archive.ics.uci.edu/dataset/31/covertype",
          .reference = "Blackard and Dean 1999",
          .options = {{"classes", "7", "2: class 2 against the rest"},
                      {"scale", "standard", kScale},
                      {"bias", "off", kBias}},
          .load = load_covtype};
}

Recipe nsl_kdd() {
  return {.name = "nsl-kdd",
          .argument = "",
          .summary = "network connections, normal or attack",
          .folders = {"nsl-kdd", "NSL-KDD"},
          .files = {{"KDDTest+.txt", "", "7c6d1b1af246690766394920d6b4c751",
                     "7c6d1b1af246690766394920d6b4c751"},
                    {"KDDTrain+_20Percent.txt", "", "e160feff7844050fc42c6d30ad0f2454",
                     "e160feff7844050fc42c6d30ad0f2454", true},
                    {"KDDTrain+.txt", "", "", "", true}},
          .unpacked = {{"KDDTrain+_binary.csv", "", "", "15f8f76e0e8194a567e07bc25ff7d887", true}},
          .page = "https://www.unb.ca/cic/datasets/nsl.html",
          .reference = "Tavallaee, Bagheri, Lu and Ghorbani 2009",
          .options = {{"split", "test",
                       "the rows to train on: test (KDDTest+, as the paper), train20, train; "
                       "the latter two are validated on KDDTest+"},
                      {"scale", "standard", kScale},
                      {"bias", "on", kBias}},
          .load = load_nsl_kdd};
}

Recipe news20() {
  return {.name = "news20",
          .argument = "",
          .summary = "20 Newsgroups by date: TF-IDF of words, sparse",
          .folders = {"news20", "20news", "20news-bydate"},
          .files = {{"20news-bydate.tar.gz", "https://ndownloader.figshare.com/files/5975967",
                     "8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610", ""}},
          .unpacked = {},
          .page = "http://qwone.com/~jason/20Newsgroups/",
          .reference = "Lang 1995",
          .options = {{"vocabulary", "20000", "at most so many terms, the commonest; 0: all"},
                      {"min_documents", "2", "a term must be in so many training documents"},
                      {"stopwords", "english", "words left out: english or none"},
                      {"headers", "keep", "keep or strip the documents' headers"},
                      {"bias", "on", kBias}},
          .load = load_news20};
}

Recipe smallnorb() {
  const std::string train = "46789x9x18x6x2x96x96-training";
  const std::string test = "01235x9x18x6x2x96x96-testing";
  return {.name = "smallnorb",
          .argument = "",
          .summary = "toys of 5 kinds, two cameras",
          .folders = {"smallnorb", "norb"},
          .files = {norb_file(train, "dat", "66054832f9accfe74a0f4c36a75bc0a2",
                              "8138a0902307b32dfa0025a36dfa45ec"),
                    norb_file(train, "cat", "23c8b86101fbf0904a000b43d3ed2fd9",
                              "fd5120d3f770ad57ebe620eb61a0b633"),
                    norb_file(test, "dat", "e4ad715691ed5a3a5f138751a4ceb071",
                              "e9920b7f7b2869a8f1a12e945b2c166c"),
                    norb_file(test, "cat", "5aa791cd7e6016cf957ce9bdb93b8603",
                              "fd5120d3f770ad57ebe620eb61a0b633")},
          .unpacked = {},
          .page = "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/",
          .reference = "LeCun, Huang and Bottou 2004",
          .options = {{"downsample", "3", "the side of the squares that are averaged; divides 96"},
                      {"cameras", "both", "both or left"},
                      {"bias", "on", kBias}},
          .load = load_smallnorb};
}

Recipe cifar10() {
  return {
      .name = "cifar10",
      .argument = "",
      .summary = "colour photographs of 10 kinds, 32 x 32; any of the five batches",
      .folders = {"cifar-10", "cifar10", "cifar-10-batches-bin", "cifar-10/cifar-10-batches-bin"},
      .files = {{"cifar-10-binary.tar.gz",
                 "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                 "c32a1d4ab5d03f1284b67883e8d87530", ""}},
      .unpacked = {{"data_batch_1.bin", "", "", "5dd7e06a14cb22eb9f671a540d1b7c25", true},
                   {"data_batch_2.bin", "", "", "", true},
                   {"data_batch_3.bin", "", "", "", true},
                   {"data_batch_4.bin", "", "", "", true},
                   {"data_batch_5.bin", "", "", "", true},
                   {"test_batch.bin", "", "", "803d5f7f4d78ea53de84dbe85f74fb6d", true}},
      .page = "https://www.cs.toronto.edu/~kriz/cifar.html",
      .reference = "Krizhevsky 2009",
      .options = {{"images", "0", "only so many training images, the first; 0: all"},
                  {"test_images", "0", "only so many test images, the first; 0: all"},
                  {"bias", "on", kBias}},
      .load = load_cifar10};
}

Recipe alpaca() {
  return {.name = "alpaca",
          .argument = "",
          .summary = "instructions with responses, to tune language models on",
          .folders = {"alpaca"},
          .files =
              {{"alpaca_data.json",
                "https://raw.githubusercontent.com/tatsu-lab/stanford_alpaca/main/alpaca_data.json",
                "", ""}},
          .unpacked = {},
          .page = "https://github.com/tatsu-lab/stanford_alpaca",
          .reference = "Taori et al. 2023",
          .options =
              {{"file", "", "another file in the same format; empty: alpaca_data.json"},
               {"items", "0", "only so many, the first; 0: all"},
               {"template", "alpaca",
                "the prompt: alpaca (Stanford's), or plain (instruction and input, a line each)"}},
          .load = load_alpaca};
}

Recipe libsvm() {
  return {
      .name = "libsvm",
      .argument = "PATH",
      .summary = "a file in LIBSVM's format, features as they are",
      .folders = {"libsvm"},
      .files = {},
      .unpacked = {},
      .page = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/",
      .reference = "Chang and Lin 2011",
      .options = {{"test", "auto", "a file to validate on; auto: PATH.t if it is there; none"},
                  {"form", "auto",
                   "dense or sparse; auto: dense up to 4096 features of which 5 % are not zero"},
                  {"bias", "on", kBias}},
      .load = load_libsvm};
}

Recipe csv() {
  return {.name = "csv",
          .argument = "PATH",
          .summary = "comma-separated values with a header",
          .folders = {"csv"},
          .files = {},
          .unpacked = {},
          .page = "",
          .reference = "",
          .options = {{"label", "", "the column with the classes; empty: the last"},
                      {"separator", "comma", "comma, semicolon or tab"},
                      {"categorical", "", "columns whose numbers are names, with + between them"},
                      {"scale", "standard", kScale},
                      {"test", "none", "a file to validate on"},
                      {"bias", "on", kBias}},
          .load = load_csv};
}

Recipe synthetic() {
  return {.name = "synthetic",
          .argument = "",
          .summary = "made from a known model, e.g. synthetic:rows=1000,features=20,classes=2",
          .folders = {},
          .files = {},
          .unpacked = {},
          .page = "",
          .reference = "",
          .options = {{"rows", "1000", ""},
                      {"features", "20", ""},
                      {"classes", "2", ""},
                      {"condition", "1", "condition number of the inputs' covariance"},
                      {"noise", "0", "fraction of wrong labels"},
                      {"sparse", "0", "fraction of elements that are not zero; 0: dense"},
                      {"rotate", "on", "turn the axes of dense inputs"},
                      {"seed", "1", ""},
                      {"bias", "off", kBias}},
          .load = load_synthetic};
}

}  // namespace

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = {mnist(),  fashion_mnist(), covtype(),  nsl_kdd(),
                                          news20(), smallnorb(),     cifar10(),  alpaca(),
                                          libsvm(), csv(),           synthetic()};
  return all;
}

}  // namespace tandem::data
