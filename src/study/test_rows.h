// SPDX-License-Identifier: MIT
// For tests: all that a study left in a store, as text that is equal when every bit is but those of
// `seconds`.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "store/store.h"

namespace tandem::study {

inline std::string bits(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:016x}", std::bit_cast<std::uint64_t>(value));
}

/// Everything that is measured but the time.
inline std::string text_of(const train::Point& p) {
  std::string text;
  train::for_each_point_field([&](auto field) {
    if constexpr (field.kCounts) {
      text += fmt::format("{} ", p.*field.member);
    } else if (field.member != &train::Point::seconds) {
      text += bits(p.*field.member) + ' ';
    }
  });
  return text;
}

inline std::string text_of(const store::MemberRow& member) {
  std::string text =
      fmt::format("{} {} baseline={} seed={} {} diverged={}@{} pruned={} bytes={}",
                  member.optimizer, member.method, member.baseline, member.seed,
                  member.phase == store::Phase::tune ? "tune" : "measure", member.diverged,
                  member.diverged_at, member.pruned, member.state_bytes);
  for (const auto& [name, value] : member.options) text += fmt::format(" {}={}", name, value);
  for (const train::Point& point : member.points) text += "\n  " + text_of(point);
  return text;
}

/// A line a task with its optimum, and what became of its members.
inline std::vector<std::string> all_rows(const std::filesystem::path& path,
                                         const std::string& study) {
  const store::Store store = store::Store::open(path, store::Store::Mode::read);
  std::vector<std::string> rows;
  for (const store::Task& task : store.tasks(store.find_study(study).value().id)) {
    rows.push_back(fmt::format("{} {} F*={}", task.key, task.data_hash,
                               task.optimum ? bits(*task.optimum) : "none"));
    for (const store::MemberRow& member : store.members(task.id, store::Curves::all)) {
      rows.push_back(text_of(member));
    }
  }
  return rows;
}

}  // namespace tandem::study
