// SPDX-License-Identifier: MIT
// The recipes of images: pixels scaled to [0, 1], a bias column, the publishers' test images as
// validation.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "data/archive.h"
#include "data/cifar.h"
#include "data/digest.h"
#include "data/fail.h"
#include "data/idx.h"
#include "data/locate.h"
#include "data/norb.h"
#include "data/recipe.h"
#include "data/split.h"

namespace tandem::data {
namespace {

/// Divided, not multiplied by 1/255: as numpy does it, to the bit.
float scaled(std::uint8_t pixel) { return static_cast<float>(pixel) / 255.0F; }

const char* bias_note(bool bias) { return bias ? ", a bias column of ones" : ", no bias"; }

Dataset empty_images(std::size_t rows, std::size_t inputs, bool bias,
                     std::vector<std::string> class_names) {
  Dataset data;
  data.rows = rows;
  data.features = inputs + (bias ? 1 : 0);
  data.classes = class_names.size();
  data.class_names = std::move(class_names);
  data.dense = Buffer<float>(data.rows * data.features);
  if (bias) {
    for (std::size_t r = 0; r < rows; ++r) data.dense[r * data.features + inputs] = 1;
  }
  data.labels.reserve(rows);
  return data;
}

void ignore_fraction(Task& task, const Request& request) {
  if (request.load.validation > 0) {
    task.notes.emplace_back("the validation fraction is not used: the data set has a test part");
  }
}

// ---- MNIST and its kin --------------------------------------------------------------------------

/// The labels, unless they are those of another data set whose files have the same names.
IdxArray read_labels(const Recipe& recipe, const std::filesystem::path& path) {
  DigestSource source(open_source(path), Digest::Kind::md5);
  IdxArray labels = read_idx(source, 1);
  for (std::size_t i = 0; i < labels.bytes.size(); ++i) {
    if (labels.bytes[i] > 9) {
      fail<DataError>(source.name(), at_byte(8 + i), fmt::format("the label {}", labels.bytes[i]),
                      "0 to 9");
    }
  }
  const std::string digest = source.finish();
  for (const Recipe& other : recipes()) {
    if (other.name == recipe.name) continue;
    for (const FileInfo& file : other.files) {
      if (file.content == digest) {
        fail<DataError>(path.string(), "", fmt::format("the labels of data set '{}'", other.name),
                        fmt::format("those of '{}'", recipe.name));
      }
    }
  }
  return labels;
}

Dataset read_idx_part(const Request& request, const std::string& part, std::size_t pad, bool bias,
                      Task& task) {
  const Locator locator(request.recipe, request.load.search);
  const auto images_path = locator.require(part + "-images-idx3-ubyte");
  const auto labels_path = locator.require(part + "-labels-idx1-ubyte");
  const auto source = open_source(images_path);
  const IdxArray images = read_idx(*source, 3);
  const IdxArray labels = read_labels(request.recipe, labels_path);
  if (images.sizes[0] != labels.sizes[0]) {
    fail<DataError>(
        labels_path.string(), at_byte(4), fmt::format("{} labels", labels.sizes[0]),
        fmt::format("{}, as there are images in {}", images.sizes[0], images_path.string()));
  }
  const std::size_t height = images.sizes[1];
  const std::size_t width = images.sizes[2];
  const std::size_t padded = width + 2 * pad;
  std::vector<std::string> names;
  for (char digit = '0'; digit <= '9'; ++digit) names.emplace_back(1, digit);
  Dataset data = empty_images(images.sizes[0], padded * (height + 2 * pad), bias, std::move(names));
  for (std::size_t r = 0; r < data.rows; ++r) {
    data.labels.push_back(labels.bytes[r]);
    const std::uint8_t* in = images.bytes.data() + r * height * width;
    float* out = data.dense.data() + r * data.features + pad * padded + pad;
    for (std::size_t y = 0; y < height; ++y) {
      for (std::size_t x = 0; x < width; ++x) {
        out[y * padded + x] = scaled(in[y * width + x]);
      }
    }
  }
  task.notes.push_back(fmt::format(
      "{}: {} images of {} x {} from {}, padded by {} to {} x {}, pixels / 255{}: {} inputs",
      part == "train" ? "training" : "validation", data.rows, height, width, images_path.string(),
      pad, height + 2 * pad, padded, bias_note(bias), data.features));
  return data;
}

// ---- SmallNORB ----------------------------------------------------------------------------------

Dataset read_norb_part(const Request& request, const std::string& part, Task& task) {
  const Locator locator(request.recipe, request.load.search);
  const auto images_path = locator.require("smallnorb-5x" + part + "-dat.mat");
  const auto labels_path = locator.require("smallnorb-5x" + part + "-cat.mat");
  const auto images_source = open_source(images_path);
  const NorbArray images = read_norb(*images_source, NorbType::bytes, 4);
  const auto labels_source = open_source(labels_path);
  const NorbArray labels = read_norb(*labels_source, NorbType::ints, 1);
  const std::size_t side = images.sizes[2];
  if (images.sizes[1] != 2 || images.sizes[3] != side) {
    fail<DataError>(images_path.string(), at_byte(12),
                    fmt::format("{}", fmt::join(images.sizes, " x ")), "N x 2 x SIDE x SIDE");
  }
  if (images.sizes[0] != labels.sizes[0]) {
    fail<DataError>(
        labels_path.string(), at_byte(8), fmt::format("{} labels", labels.sizes[0]),
        fmt::format("{}, as there are images in {}", images.sizes[0], images_path.string()));
  }
  const std::size_t factor = request.count("downsample", 1, side);
  if (side % factor != 0) {
    throw std::invalid_argument(
        fmt::format("Invalid option downsample = {} of data set 'smallnorb', expected a divisor of "
                    "{}",
                    factor, side));
  }
  const std::size_t cameras = request.choice("cameras", {"both", "left"}) == "both" ? 2 : 1;
  const std::size_t small = side / factor;
  const bool bias = request.flag("bias");
  Dataset data = empty_images(images.sizes[0], cameras * small * small, bias,
                              {"animal", "human", "airplane", "truck", "car"});
  const auto whole = static_cast<double>(255 * factor * factor);
  for (std::size_t r = 0; r < data.rows; ++r) {
    const std::int32_t label = labels.ints[r];
    if (label < 0 || label > 4) {
      fail<DataError>(labels_path.string(), at_byte(20 + 4 * r), fmt::format("the label {}", label),
                      "0 to 4");
    }
    data.labels.push_back(static_cast<std::uint32_t>(label));
    float* out = data.dense.data() + r * data.features;
    for (std::size_t camera = 0; camera < cameras; ++camera) {
      const std::uint8_t* in = images.bytes.data() + (2 * r + camera) * side * side;
      for (std::size_t y = 0; y < small; ++y) {
        for (std::size_t x = 0; x < small; ++x) {
          unsigned sum = 0;
          for (std::size_t dy = 0; dy < factor; ++dy) {
            for (std::size_t dx = 0; dx < factor; ++dx) {
              sum += in[(y * factor + dy) * side + x * factor + dx];
            }
          }
          *out++ = static_cast<float>(sum / whole);
        }
      }
    }
  }
  task.notes.push_back(fmt::format(
      "{} {} of {} x {} from {}, {} camera{}, squares of {} x {} averaged to {} x {}, / 255{}: {} "
      "inputs",
      data.rows, cameras == 2 ? "pairs of images" : "images", side, side, images_path.string(),
      cameras, cameras == 1 ? "" : "s", factor, factor, small, small, bias_note(bias),
      data.features));
  return data;
}

// ---- CIFAR-10 -----------------------------------------------------------------------------------

struct CifarParts {
  CifarBatch train;
  CifarBatch test;
  std::vector<std::string> train_files;
  std::string test_file;

  void read(ByteSource& source, const std::string& file_name, bool is_test) {
    read_cifar(source, is_test ? test : train);
    if (is_test) {
      test_file = file_name;
    } else {
      train_files.push_back(file_name);
    }
  }
};

CifarParts read_cifar_archive(const std::filesystem::path& path) {
  CifarParts parts;
  ArchiveReader archive(open_source(path));
  while (archive.next()) {
    const std::string name = std::filesystem::path(archive.path()).filename().string();
    if (name.starts_with("data_batch_") && name.ends_with(".bin")) {
      parts.read(archive.content(), name, false);
    } else if (name == "test_batch.bin") {
      parts.read(archive.content(), name, true);
    }
  }
  return parts;
}

CifarParts read_cifar_files(const Recipe& recipe, const Locator& locator) {
  CifarParts parts;
  for (const FileInfo& file : recipe.unpacked) {
    const auto path = locator.find(file.name);
    if (!path) continue;
    const auto source = open_source(*path);
    parts.read(*source, path->string(), file.name == "test_batch.bin");
  }
  return parts;
}

/// Leaves the first `most` images, all for 0. Returns what a note says of that.
std::string keep_first(CifarBatch& batch, std::size_t most) {
  const std::size_t all = batch.labels.size();
  if (most == 0 || most >= all) return "";
  batch.labels.resize(most);
  batch.pixels.resize(most * kCifarPixels);
  return fmt::format(" (the first of {})", all);
}

Dataset cifar_images(const CifarBatch& batch, bool bias) {
  Dataset data = empty_images(
      batch.labels.size(), kCifarPixels, bias,
      {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"});
  data.labels.assign(batch.labels.begin(), batch.labels.end());
  for (std::size_t r = 0; r < data.rows; ++r) {
    for (std::size_t i = 0; i < kCifarPixels; ++i) {
      data.dense[r * data.features + i] = scaled(batch.pixels[r * kCifarPixels + i]);
    }
  }
  return data;
}

}  // namespace

Task load_idx_images(const Request& request) {
  const std::size_t pad = request.count("pad", 0, 100);
  const bool bias = request.flag("bias");
  Task task;
  task.train = read_idx_part(request, "train", pad, bias, task);
  task.validation = read_idx_part(request, "t10k", pad, bias, task);
  if (task.validation->features != task.train.features) {
    throw DataError(
        fmt::format("Data set '{}': found test images of {} inputs, expected {}, as in "
                    "the training images",
                    request.recipe.name, task.validation->features, task.train.features));
  }
  ignore_fraction(task, request);
  return task;
}

Task load_smallnorb(const Request& request) {
  Task task;
  task.train = read_norb_part(request, "46789x9x18x6x2x96x96-training", task);
  task.validation = read_norb_part(request, "01235x9x18x6x2x96x96-testing", task);
  if (task.validation->features != task.train.features) {
    throw DataError(
        "Data set 'smallnorb': found test images of another size than the training "
        "images, expected the same");
  }
  ignore_fraction(task, request);
  return task;
}

Task load_cifar10(const Request& request) {
  const Locator locator(request.recipe, request.load.search);
  CifarParts parts = read_cifar_files(request.recipe, locator);
  if (parts.train_files.empty()) {
    const auto archive = locator.find("cifar-10-binary.tar.gz");
    if (archive) parts = read_cifar_archive(*archive);
  }
  if (parts.train_files.empty()) locator.fail_missing("data_batch_1.bin ... data_batch_5.bin");

  const bool bias = request.flag("bias");
  constexpr std::size_t kMost = 1'000'000'000;
  const std::size_t most_test = request.count("test_images", 0, kMost);
  const std::string first = keep_first(parts.train, request.count("images", 0, kMost));
  Task task;
  task.train = cifar_images(parts.train, bias);
  task.notes.push_back(fmt::format(
      "training: {} images{} of 3 x 32 x 32 from {}, pixels / 255{}: {} inputs", task.train.rows,
      first, fmt::join(parts.train_files, ", "), bias_note(bias), task.train.features));
  if (!parts.test_file.empty()) {
    const std::string first_test = keep_first(parts.test, most_test);
    task.validation = cifar_images(parts.test, bias);
    task.notes.push_back(fmt::format("validation: {} images{} from {}", task.validation->rows,
                                     first_test, parts.test_file));
    ignore_fraction(task, request);
  } else if (request.load.validation > 0) {
    const Split split = split_rows(task.train.rows, request.load.validation, request.load.seed);
    task.validation = take_rows(task.train, split.validation);
    task.train = take_rows(task.train, split.train);
    task.notes.push_back(fmt::format("validation: {} random images, seed {}", task.validation->rows,
                                     request.load.seed));
  }
  return task;
}

}  // namespace tandem::data
