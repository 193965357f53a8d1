// SPDX-License-Identifier: MIT
#include "study/unit_checkpoint.h"

#include <tandem/errors.h>
#include <tandem/version.h>

#include <limits>
#include <sstream>

#include "base/state_stream.h"
#include "train/results.h"

namespace tandem::study {
namespace {

std::vector<train::Member> members_of(const std::vector<train::Setting>& settings) {
  std::vector<train::Member> members;
  for (const train::Setting& setting : settings) {
    train::Member member;
    member.id = members.size();
    member.setting = setting;
    members.push_back(std::move(member));
  }
  return members;
}

}  // namespace

void UnitCheckpoint::read(const std::string& bytes) {
  done_.clear();
  running_.clear();
  try {
    std::istringstream stream(bytes);
    StateReader reader(stream);
    if (reader.text("kind") != "unit" || reader.text("version") != version()) return;
    if (reader.count("populations") != settings_.size()) return;
    const std::uint64_t done = reader.count("done", settings_.size());
    std::vector<std::vector<train::Member>> read;
    for (std::size_t p = 0; p < done; ++p) {
      // A machine with other memory has other waves.
      if (reader.count("members") != settings_[p].size()) return;
      read.push_back(members_of(settings_[p]));
      train::load_results(reader, read.back(), std::numeric_limits<std::uint32_t>::max());
    }
    reader.finish();
    done_ = std::move(read);
    running_ = bytes.substr(static_cast<std::size_t>(stream.tellg()));
  } catch (const StateError&) {
    // Of no use: the unit begins anew.
  }
}

bool UnitCheckpoint::resume(train::Trainer& trainer) const {
  if (running_.empty()) return true;
  try {
    std::istringstream stream(running_);
    trainer.load(stream);
    return true;
  } catch (const StateError&) {
    return false;
  }
}

void UnitCheckpoint::keep(const train::Trainer& trainer) {
  running_.clear();
  if (trainer.bytes() > kMostBytes) return;
  std::ostringstream stream;
  trainer.save(stream);
  if (stream.view().size() <= kMostBytes) running_ = std::move(stream).str();
}

void UnitCheckpoint::finish(const std::vector<train::Member>& members) {
  done_.push_back(members);
  running_.clear();
}

std::string UnitCheckpoint::bytes() const {
  std::ostringstream stream;
  StateWriter writer(stream);
  writer.text("kind", "unit");
  writer.text("version", version());
  writer.count("populations", settings_.size());
  writer.count("done", done_.size());
  for (const std::vector<train::Member>& members : done_) {
    writer.count("members", members.size());
    train::save_results(writer, members);
  }
  writer.finish();
  return std::move(stream).str() + running_;
}

}  // namespace tandem::study
