// SPDX-License-Identifier: MIT
#include "train/results.h"

namespace tandem::train {

void save_results(StateWriter& writer, const std::vector<Member>& members) {
  for (const Member& member : members) {
    writer.count("diverged", member.diverged ? 1 : 0);
    writer.count("diverged_at", member.diverged_at);
    writer.count("pruned", member.pruned ? 1 : 0);
    writer.count("state_bytes", member.state_bytes);
    writer.count("points", member.points.size());
    for (const Point& point : member.points) {
      for_each_point_field([&](auto field) {
        if constexpr (field.kCounts) {
          writer.count(field.name, point.*field.member);
        } else {
          writer.number(field.name, point.*field.member);
        }
      });
    }
  }
}

void load_results(StateReader& reader, std::vector<Member>& members, std::uint64_t epochs) {
  for (Member& member : members) {
    member.diverged = reader.count("diverged", 1) == 1;
    member.diverged_at = reader.count("diverged_at");
    member.pruned = reader.count("pruned", 1) == 1;
    member.state_bytes = reader.count("state_bytes");
    const std::uint64_t points = reader.count("points", epochs + 1);
    for (std::uint64_t i = 0; i < points; ++i) {
      Point point;
      for_each_point_field([&](auto field) {
        if constexpr (field.kCounts) {
          point.*field.member = reader.count(field.name);
        } else {
          point.*field.member = reader.number(field.name);
        }
      });
      member.points.push_back(point);
    }
  }
}

}  // namespace tandem::train
