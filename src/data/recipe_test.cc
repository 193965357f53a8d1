// SPDX-License-Identifier: MIT
// The recipes on small files of their formats: where files are found, what becomes of them, what is
// refused.
#include "data/recipe.h"

#include <gtest/gtest.h>

#include <string>

#include "data/cifar.h"
#include "data/test_files.h"
#include "tests/temp_folder.h"

namespace tandem::data {
namespace {

using Options = std::map<std::string, std::string>;

Task load(const tests::TempFolder& folder, const std::string& spec, const Options& options = {},
          double validation = 0) {
  return load_task(
      spec, {.search = {folder.path()}, .validation = validation, .seed = 1, .options = options});
}

void expect_usage(const tests::TempFolder& folder, const std::string& spec, const Options& options,
                  const std::vector<std::string>& parts) {
  expect_error<std::invalid_argument>([&] { load(folder, spec, options); }, parts);
}

TEST(Recipes, NamesAndOptionsAreChecked) {
  const tests::TempFolder folder;
  expect_usage(folder, "minst", {}, {"Unknown data set 'minst', did you mean 'mnist'?"});
  expect_usage(folder, "news20", {{"vocabulry", "5"}},
               {"Unknown option 'vocabulry' of data set 'news20', did you mean 'vocabulary'?"});
  expect_usage(folder, "news20:stopwords", {}, {"'stopwords' after 'news20:'", "NAME=VALUE"});
  expect_usage(folder, "news20:stopwords=french", {}, {"stopwords = 'french'", "english, none"});
  expect_usage(folder, "mnist", {{"pad", "-1"}}, {"pad = '-1'", "0 to 100"});
  expect_usage(folder, "covtype", {{"bias", "yes"}}, {"bias = 'yes'", "on, off"});
  expect_usage(folder, "libsvm", {}, {"needs an argument: libsvm:PATH"});
  expect_usage(folder, "synthetic:rows=0", {}, {"rows = '0'"});
  expect_usage(folder, "synthetic:noise=much", {}, {"noise = 'much'", "a number"});
  expect_error<std::invalid_argument>([&] { load(folder, "synthetic", {}, 1.5); },
                                      {"validation fraction 1.5"});
}

TEST(Recipes, MissingFilesAreExplained) {
  const tests::TempFolder folder;
  expect_damage([&] { load(folder, "mnist"); },
                {"Data set 'mnist': found no train-images-idx3-ubyte", folder.path().string(),
                 "tandem data fetch mnist", "t10k-labels-idx1-ubyte.gz", "yann.lecun.com"});
  expect_damage([&] { load(folder, "nsl-kdd"); }, {"KDDTest+.txt", "unb.ca"});
  expect_damage([&] { load(folder, "news20"); }, {"20news-bydate.tar"});
  expect_damage([&] { load(folder, "cifar10"); }, {"data_batch_1.bin"});
  expect_damage([&] { load(folder, "alpaca"); }, {"alpaca_data.json", "tandem data fetch alpaca"});
  expect_damage([&] { load(folder, "alpaca:file=nowhere"); }, {"nowhere", "no such file"});
  expect_damage([&] { load(folder, "libsvm:nowhere"); }, {"nowhere", "no such file"});
  expect_damage([&] { load(folder, "csv:nowhere"); }, {"nowhere", "no such file"});
}

TEST(Recipes, EveryEntryIsComplete) {
  for (const Recipe& recipe : recipes()) {
    EXPECT_FALSE(recipe.summary.empty()) << recipe.name;
    EXPECT_NE(recipe.load, nullptr) << recipe.name;
    for (const FileInfo& file : recipe.files) {
      EXPECT_TRUE(file.url.empty() || file.url.starts_with("https://")) << file.name;
      EXPECT_TRUE(file.packed.empty() || file.packed.size() == 32 || file.packed.size() == 64);
      EXPECT_TRUE(file.content.empty() || file.content.size() == 32) << file.name;
    }
    if (!recipe.files.empty()) {
      EXPECT_FALSE(recipe.page.empty()) << recipe.name;
      EXPECT_FALSE(recipe.reference.empty()) << recipe.name;
    }
  }
}

// ---- Images -------------------------------------------------------------------------------------

void write_idx(const tests::TempFolder& folder, const std::string& where, const std::string& labels,
               std::uint32_t side = 2) {
  const auto count = static_cast<std::uint32_t>(labels.size());
  const std::string images =
      idx_file({count, side, side}, std::string(count * side * side, '\x33'));
  folder.write(where + "train-images-idx3-ubyte.gz", gzip(images));
  folder.write(where + "train-labels-idx1-ubyte.xz", xz(idx_file({count}, labels)));
  folder.write(where + "t10k-images-idx3-ubyte", images);
  folder.write(where + "t10k-labels-idx1-ubyte", idx_file({count}, labels));
}

TEST(Recipes, MnistIsPaddedScaledAndBiased) {
  const tests::TempFolder folder;
  write_idx(folder, "", std::string("\3\7\0", 3));
  const Task task = load(folder, "mnist", {{"pad", "1"}});
  EXPECT_EQ(task.train.rows, 3U);
  EXPECT_EQ(task.train.features, 17U);
  EXPECT_EQ(task.train.classes, 10U);
  EXPECT_EQ(task.train.labels, (std::vector<std::uint32_t>{3, 7, 0}));
  ASSERT_TRUE(task.validation.has_value());
  EXPECT_EQ(task.validation->rows, 3U);
  for (std::size_t i = 0; i < 16; ++i) {
    const bool inside = i == 5 || i == 6 || i == 9 || i == 10;
    EXPECT_EQ(task.train.dense[17 + i], inside ? 0.2F : 0.0F) << i;
  }
  EXPECT_EQ(task.train.dense[17 + 16], 1.0F);
  EXPECT_EQ(load(folder, "mnist:pad=0,bias=off").train.features, 4U);
  EXPECT_GE(task.notes.size(), 2U);
}

TEST(Recipes, TheOwnFolderComesFirst) {
  const tests::TempFolder folder;
  write_idx(folder, "", std::string(3, '\1'));
  write_idx(folder, "fashion-mnist/", std::string(5, '\1'));
  EXPECT_EQ(load(folder, "mnist").train.rows, 3U);
  EXPECT_EQ(load(folder, "fashion-mnist").train.rows, 5U);
}

TEST(Recipes, MnistRefusesPartsThatDoNotFit) {
  const tests::TempFolder folder;
  write_idx(folder, "", "\1\2");
  folder.write("train-labels-idx1-ubyte.xz", xz(idx_file({3}, "\1\2\3")));
  expect_damage([&] { load(folder, "mnist"); },
                {"train-labels-idx1-ubyte.xz", "3 labels", "2, as there are images"});
  folder.write("train-labels-idx1-ubyte.xz", xz(idx_file({2}, "\1\12")));
  expect_damage([&] { load(folder, "mnist"); }, {"byte 9", "the label 10", "0 to 9"});
  write_idx(folder, "", "\1\2");
  folder.write("t10k-images-idx3-ubyte", idx_file({2, 1, 1}, "ab"));
  expect_damage([&] { load(folder, "mnist"); }, {"test images of 26 inputs", "37"});
}

std::string norb_ints(const std::vector<std::uint32_t>& values) {
  std::string file = little_endian(0x1E3D4C54) + little_endian(1) +
                     little_endian(static_cast<std::uint32_t>(values.size())) + little_endian(1) +
                     little_endian(1);
  for (const std::uint32_t value : values) file += little_endian(value);
  return file;
}

TEST(Recipes, SmallNorbIsAveraged) {
  const tests::TempFolder folder;
  const auto images = [](std::uint32_t side) {
    std::string file = little_endian(0x1E3D4C55) + little_endian(4) + little_endian(2) +
                       little_endian(2) + little_endian(side) + little_endian(side);
    for (std::uint32_t i = 0; i < 2 * 2 * side * side; ++i) file += static_cast<char>(i % 251);
    return file;
  };
  const std::string train = "smallnorb/smallnorb-5x46789x9x18x6x2x96x96-training-";
  const std::string test = "smallnorb/smallnorb-5x01235x9x18x6x2x96x96-testing-";
  for (const std::string& part : {train, test}) {
    folder.write(part + "dat.mat.gz", gzip(images(4)));
    folder.write(part + "cat.mat.gz", gzip(norb_ints({0, 4})));
  }
  const Task task = load(folder, "smallnorb", {{"downsample", "2"}});
  EXPECT_EQ(task.train.features, 2 * 4 + 1U);
  EXPECT_EQ(task.train.classes, 5U);
  EXPECT_NEAR(task.train.dense[0], (0 + 1 + 4 + 5) / 4.0 / 255, 1e-6);
  EXPECT_NEAR(task.train.dense[4], (16 + 17 + 20 + 21) / 4.0 / 255, 1e-6);
  EXPECT_EQ(load(folder, "smallnorb:downsample=1,cameras=left").train.features, 17U);
  expect_usage(folder, "smallnorb", {{"downsample", "3"}}, {"downsample = 3", "a divisor of 4"});
  folder.write(train + "cat.mat.gz", gzip(norb_ints({0, 5})));
  expect_damage([&] { load(folder, "smallnorb:downsample=2"); }, {"byte 24", "the label 5"});
  folder.write(train + "cat.mat.gz", gzip(norb_ints({0})));
  expect_damage([&] { load(folder, "smallnorb:downsample=2"); }, {"1 labels", "2, as there are"});
}

TEST(Recipes, CifarTakesTheBatchesThatAreThere) {
  const tests::TempFolder folder;
  const auto batch = [](int label) {
    return std::string(1, static_cast<char>(label)) + std::string(kCifarPixels, '\xff');
  };
  folder.write("cifar-10/data_batch_2.bin.xz", xz(batch(2)));
  folder.write("cifar-10/data_batch_5.bin", batch(5) + batch(6));
  Task task = load(folder, "cifar10");
  EXPECT_EQ(task.train.labels, (std::vector<std::uint32_t>{2, 5, 6}));
  EXPECT_EQ(task.train.features, 3073U);
  EXPECT_EQ(task.train.dense[0], 1.0F);
  EXPECT_FALSE(task.validation.has_value());
  EXPECT_EQ(load(folder, "cifar10", {}, 0.3).validation->rows, 1U);
  folder.write("test_batch.bin", batch(1));
  EXPECT_EQ(load(folder, "cifar10").validation->labels, (std::vector<std::uint32_t>{1}));
}

TEST(Recipes, CifarTakesTheFirstImages) {
  const tests::TempFolder folder;
  std::string images;
  for (int label = 0; label < 5; ++label) {
    images += static_cast<char>(label) + std::string(kCifarPixels, static_cast<char>(label));
  }
  folder.write("data_batch_1.bin", images);
  folder.write("data_batch_2.bin", images);
  folder.write("test_batch.bin", images);
  const Task task = load(folder, "cifar10:images=7,test_images=2");
  EXPECT_EQ(task.train.labels, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 0, 1}));
  EXPECT_EQ(task.train.rows, 7U);
  EXPECT_EQ(task.train.dense[4 * 3073], 4 / 255.0F);
  EXPECT_EQ(task.validation->labels, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_NE(task.notes[0].find("7 images (the first of 10)"), std::string::npos) << task.notes[0];
  EXPECT_NE(task.notes[1].find("2 images (the first of 5)"), std::string::npos) << task.notes[1];
  const Task all = load(folder, "cifar10:images=11");
  EXPECT_EQ(all.train.rows, 10U);
  EXPECT_EQ(all.notes[0].find("first"), std::string::npos);
  EXPECT_EQ(load(folder, "cifar10").train.rows, 10U);
  expect_usage(folder, "cifar10:images=-1", {}, {"images = '-1'"});
}

TEST(Recipes, CifarReadsTheArchive) {
  const tests::TempFolder folder;
  const std::string one = std::string(1, '\1') + std::string(kCifarPixels, 'x');
  folder.write("cifar-10-binary.tar.gz",
               gzip(pack({{"cifar-10-batches-bin/batches.meta.txt", "airplane"},
                          {"cifar-10-batches-bin/data_batch_1.bin", one},
                          {"cifar-10-batches-bin/test_batch.bin", one + one}})));
  const Task task = load(folder, "cifar10:bias=off");
  EXPECT_EQ(task.train.rows, 1U);
  EXPECT_EQ(task.train.features, 3072U);
  EXPECT_EQ(task.validation->rows, 2U);
}

// ---- Tables and sparse data ---------------------------------------------------------------------

TEST(Recipes, CovtypeCountsItsInputs) {
  const tests::TempFolder folder;
  std::string text;
  for (int row = 0; row < 10; ++row) {
    for (int i = 0; i < 10; ++i) text += std::to_string(row * i) + ",";
    for (int i = 0; i < 44; ++i) text += "0,";
    text += std::to_string(1 + row % 7) + "\n";
  }
  folder.write("covtype/covtype.data", text);
  const Task task = load(folder, "covtype");
  EXPECT_EQ(task.train.features, 98U);
  EXPECT_EQ(task.train.classes, 7U);
  EXPECT_EQ(task.train.dense[10], 1.0F);  // the first property is 0, ...
  EXPECT_EQ(task.train.dense[11], 0.0F);  // ... not 1
  const Task two = load(folder, "covtype:classes=2,bias=on", {}, 0.2);
  EXPECT_EQ(two.train.features, 99U);
  EXPECT_EQ(two.train.classes, 2U);
  EXPECT_EQ(two.train.class_names, (std::vector<std::string>{"rest", "2"}));
  EXPECT_EQ(two.train.rows, 8U);
  EXPECT_EQ(two.validation->rows, 2U);
}

TEST(Recipes, NslKddTrainsOnThePartThatIsAskedFor) {
  const tests::TempFolder folder;
  const auto line = [](const std::string& service, const std::string& end) {
    std::string text = "0,tcp," + service + ",SF";
    for (int i = 4; i < 41; ++i) text += "," + std::to_string(i % 3);
    return text + "," + end + "\n";
  };
  folder.write("nsl-kdd/KDDTest+.txt", line("http", "normal,1") + line("imap4", "neptune,2"));
  folder.write("nsl-kdd/KDDTrain+_binary.csv",
               line("http", "anomaly") + line("http", "normal") + line("smtp", "normal"));
  const Task test = load(folder, "nsl-kdd");
  EXPECT_EQ(test.train.features, 38 + 1 + 2 + 1 + 1U);
  EXPECT_FALSE(test.validation.has_value());
  const Task train = load(folder, "nsl-kdd", {{"split", "train"}});
  EXPECT_EQ(train.train.rows, 3U);
  EXPECT_EQ(train.validation->rows, 2U);
  EXPECT_NE(train.notes[2].find("1 words of the validation rows"), std::string::npos);
  expect_damage([&] { load(folder, "nsl-kdd:split=train20"); }, {"KDDTrain+_20Percent.txt"});
}

TEST(Recipes, LibsvmFindsItsTestPart) {
  const tests::TempFolder folder;
  folder.write("libsvm/set.gz", gzip("2 1:1 2:1\n-1 3:4\n"));
  folder.write("libsvm/set.t", "2 4:1\n-1 1:1\n");
  const Task task = load(folder, "libsvm:set");
  EXPECT_FALSE(task.train.sparse);
  EXPECT_EQ(task.train.features, 4U);
  EXPECT_EQ(task.train.labels, (std::vector<std::uint32_t>{1, 0}));
  EXPECT_EQ(task.train.class_names, (std::vector<std::string>{"-1", "2"}));
  EXPECT_EQ(task.train.dense[4 + 2], 4.0F);
  EXPECT_EQ(task.train.dense[3], 1.0F);
  EXPECT_EQ(task.validation->features, 4U);
  const std::string path = (folder / "libsvm/set.gz").string();
  const Task sparse = load(folder, "libsvm:" + path, {{"form", "sparse"}, {"test", "none"}}, 0.5);
  EXPECT_TRUE(sparse.train.sparse);
  EXPECT_EQ(sparse.validation->rows, 1U);
  folder.write("one", "1 1:1\n1 1:2\n");
  expect_damage([&] { load(folder, "libsvm:one"); }, {"one", "the label 1 only"});
  folder.write("none", "1\n2\n");
  expect_damage([&] { load(folder, "libsvm:none"); }, {"no features"});
}

TEST(Recipes, CsvTakesItsOptions) {
  const tests::TempFolder folder;
  folder.write("a.csv", "class;x;code\nyes;1;10\nno;3;20\nyes;5;10\n");
  folder.write("b.csv", "class;x;code\nno;3;30\n");
  const Options options = {{"label", "class"},
                           {"separator", "semicolon"},
                           {"categorical", "code"},
                           {"scale", "none"},
                           {"test", "b.csv"}};
  const Task task = load(folder, "csv:a.csv", options);
  EXPECT_EQ(task.train.features, 4U);
  EXPECT_EQ(task.train.dense[0], 1.0F);
  EXPECT_EQ(task.train.dense[4], 3.0F);
  EXPECT_EQ(task.train.class_names, (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(task.validation->dense[1] + task.validation->dense[2], 0.0F);
  folder.write("one.csv", "x,y\n1,a\n2,a\n");
  expect_damage([&] { load(folder, "csv:one.csv"); }, {"one class only"});
}

TEST(Recipes, News20SplitsByDateOrAtRandom) {
  const tests::TempFolder folder;
  std::vector<ArchiveFile> files;
  for (const char* group : {"sci.space", "rec.autos"}) {
    for (int i = 0; i < 5; ++i) {
      files.push_back({std::string("20news-bydate-train/") + group + "/" + std::to_string(i),
                       std::string("word ") + group});
    }
  }
  folder.write("20news-bydate.tar.xz", xz(pack(files)));
  EXPECT_FALSE(load(folder, "news20").validation.has_value());
  EXPECT_EQ(load(folder, "news20", {}, 0.2).validation->rows, 2U);
  files.push_back({"20news-bydate-test/rec.autos/9", "word of autos"});
  folder.write("20news-bydate.tar.xz", xz(pack(files)));
  const Task task = load(folder, "news20", {{"vocabulary", "3"}}, 0.2);
  EXPECT_EQ(task.train.features, 4U);
  EXPECT_EQ(task.validation->rows, 1U);
  EXPECT_EQ(task.train.classes, 2U);
}

TEST(Recipes, SyntheticTakesItsOptionsFromTheName) {
  const tests::TempFolder folder;
  const Task task = load(
      folder, "synthetic:rows=40, features=7,classes=3,condition=10,noise=0.1,seed=2", {}, 0.25);
  EXPECT_EQ(task.train.rows, 30U);
  EXPECT_EQ(task.validation->rows, 10U);
  EXPECT_EQ(task.train.features, 7U);
  EXPECT_EQ(task.train.classes, 3U);
  EXPECT_TRUE(load(folder, "synthetic:sparse=0.5").train.sparse);
}

}  // namespace
}  // namespace tandem::data
