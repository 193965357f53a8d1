// SPDX-License-Identifier: MIT
#include "export/event_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "export/event.h"
#include "export/folder_name.h"
#include "tests/temp_folder.h"

namespace tandem::exporting {
namespace {

namespace fs = std::filesystem;

std::string event(std::int64_t step) {
  Event event(1, step);
  event.scalar("loss", 0.5);
  return event.record();
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(EventFile, NamesAreThoseThatTensorBoardLooksFor) {
  EXPECT_EQ(event_file_name(1'700'000'000, "my.host/..", "7"),
            "events.out.tfevents.1700000000.my-host---.7");
  EXPECT_EQ(event_file_name(7, "h", "x"), "events.out.tfevents.0000000007.h.x");
}

TEST(EventFile, ANewOneComesAfterThoseThatAreThere) {
  const tandem::tests::TempFolder folder;
  const fs::path first = next_event_file(folder.path() / "none", 100);
  EXPECT_TRUE(first.filename().string().starts_with("events.out.tfevents.0000000100."));
  folder.write("events.out.tfevents.0000000300.z.9", "");
  const fs::path next = next_event_file(folder.path(), 100);
  EXPECT_GT(next.filename().string(), "events.out.tfevents.0000000300.z.9");
}

TEST(EventFile, IsWrittenWholeAndLeavesNothingElse) {
  const tandem::tests::TempFolder folder;
  const fs::path path = folder.path() / "a" / "b" / "events.out.tfevents.1.h.x";
  write_event_file(path, version_record(1));
  write_event_file(path, version_record(1) + event(3));
  EXPECT_EQ(fs::file_size(path), version_record(1).size() + event(3).size());
  EXPECT_EQ(files_in(path.parent_path()), 1U);
  folder.write("file", "");
  EXPECT_THROW(write_event_file(folder.path() / "file" / "x" / "y", ""), std::runtime_error);
}

TEST(EventFile, TellsTheLastStepOfAFolder) {
  const tandem::tests::TempFolder folder;
  EXPECT_FALSE(has_event_files(folder.path() / "none"));
  EXPECT_FALSE(last_step(folder.path() / "none"));
  const fs::path path = folder.path() / "events.out.tfevents.1.h.x";
  append_records(path, version_record(1));
  EXPECT_TRUE(has_event_files(folder.path()));
  EXPECT_FALSE(last_step(folder.path()));
  append_records(path, event(0));
  EXPECT_EQ(last_step(folder.path()), 0);
  append_records(path, event(500));
  folder.write("events.out.tfevents.2.h.x", version_record(2) + event(40));
  folder.write("other", event(9999));
  EXPECT_EQ(last_step(folder.path()), 500);
}

TEST(EventFile, ACutOffRecordIsNotThere) {
  const tandem::tests::TempFolder folder;
  const std::string start = version_record(1) + event(1);
  const std::string last = event(2);
  for (std::size_t bytes = 0; bytes < last.size(); ++bytes) {
    folder.write("events.out.tfevents.1.h.x", start + last.substr(0, bytes));
    EXPECT_EQ(last_step(folder.path()), 1) << bytes;
  }
  folder.write("events.out.tfevents.1.h.x", start + last);
  EXPECT_EQ(last_step(folder.path()), 2);
  // Nor what is damaged; a length beyond all memory is only a number.
  folder.write("events.out.tfevents.1.h.x",
               start + std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8) + last);
  EXPECT_EQ(last_step(folder.path()), 1);
}

TEST(FolderName, KeepsWhatIsHarmless) {
  for (const char* name : {"diag-to, alpha > 0", "adam, TO's rates too", "svrg+adam",
                           "nsl-kdd ffn:10 lambda=0 batch=64"}) {
    EXPECT_EQ(folder_name(name), name);
  }
}

TEST(FolderName, LeadsNowhereAndNamesNoTwoAlike) {
  std::vector<std::string> names = {"",
                                    ".",
                                    "..",
                                    "../..",
                                    "/etc",
                                    "a/b",
                                    "a_b",
                                    "a\\b",
                                    "a b",
                                    "a\nb",
                                    "~",
                                    std::string("a\0b", 3),
                                    " x",
                                    "x ",
                                    "x",
                                    ".x",
                                    "x.",
                                    "größe",
                                    std::string(300, 'x'),
                                    std::string(301, 'x')};
  names.push_back(folder_name("a/b"));  // a name that looks like ours
  std::set<std::string> folders;
  for (const std::string& name : names) {
    const std::string folder = folder_name(name);
    EXPECT_TRUE(folders.insert(folder).second) << folder;
    EXPECT_LE(folder.size(), 120U);
    EXPECT_EQ(folder.find('/'), std::string::npos);
    EXPECT_NE(folder.front(), '.');
    EXPECT_EQ((fs::path("out") / folder).lexically_normal().parent_path(), "out") << folder;
  }
}

}  // namespace
}  // namespace tandem::exporting
