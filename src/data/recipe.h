// SPDX-License-Identifier: MIT
// The table of data sets: what each is called, the files it consists of, where they come from, its
// options, and the function that makes a task of it. `tandem data`, load_task() and the messages
// about missing files all read this one table (recipes.cc).
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace tandem::data {

struct FileInfo {
  std::string name;     // as published: "train-images-idx3-ubyte.gz"
  std::string url;      // https; empty: nobody publishes it at a fixed address
  std::string packed;   // MD5 (32 digits) or SHA-256 (64) of the published file; empty: not known
  std::string content;  // MD5 of what is inside, decompressed; empty: not known
  bool optional = false;
};

struct OptionInfo {
  std::string name;
  std::string default_value;
  std::string meaning;
};

struct Request;

struct Recipe {
  std::string name;
  std::string argument;  // what may follow the name and a colon: "PATH"; empty: NAME=VALUE,...
  std::string summary;
  std::vector<std::string> folders;  // names of folders in which the files may lie
  std::vector<FileInfo> files;       // to download
  std::vector<FileInfo> unpacked;    // what may lie there in their place
  std::string page;                  // of the people who publish it
  std::string reference;
  std::vector<OptionInfo> options;
  Task (*load)(const Request&) = nullptr;
};

const std::vector<Recipe>& recipes();
/// The recipe of "NAME" or "NAME:ARGUMENT". Throws std::invalid_argument.
const Recipe& find_recipe(const std::string& spec);

/// What a recipe's function is given.
struct Request {
  const Recipe& recipe;
  std::string argument;
  const LoadOptions& load;
  std::map<std::string, std::string> options;  // every option of the recipe

  const std::string& text(const std::string& option) const;
  /// One of these words. Throws std::invalid_argument, as the next two.
  const std::string& choice(const std::string& option,
                            std::initializer_list<const char*> known) const;
  /// on or off.
  bool flag(const std::string& option) const;
  std::size_t count(const std::string& option, std::size_t least, std::size_t most) const;
};

// The functions of the table, one for each kind of data.
Task load_idx_images(const Request& request);
Task load_smallnorb(const Request& request);
Task load_cifar10(const Request& request);
Task load_covtype(const Request& request);
Task load_nsl_kdd(const Request& request);
Task load_csv(const Request& request);
Task load_libsvm(const Request& request);
Task load_news20(const Request& request);
Task load_alpaca(const Request& request);
Task load_synthetic(const Request& request);

}  // namespace tandem::data
