// SPDX-License-Identifier: MIT
// Standard output and standard error that cannot be written, and what must not be lost then.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/test_program.h"
#include "tests/temp_folder.h"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStudy = R"(
epochs = 2
seeds = [2, 3]
[[task]]
data = "synthetic:rows=64,features=2"
lambda = 0.1
batch = 32
[[optimizer]]
name = "adam"
baseline = true
lr = [0.1, 0.01]
[[optimizer]]
name = "momentum"
lr = 0.1
)";

class Output : public ::testing::Test {
 protected:
  Output() { write_study("small"); }

  /// As a string of TOML, escapes and all.
  void write_study(const std::string& name) {
    std::ofstream(folder_ / "study.toml") << "name = \"" << name << "\"" << kStudy;
  }
  /// In the test's folder.
  Result in_folder(const std::string& command) {
    return shell("cd " + folder_.string() + " && " + command);
  }
  std::size_t finished_units(const std::string& store) {
    const Result listed = in_folder("$T runs list --json --store " + store);
    return listed.exit_code == kDone ? json_lines(listed.out).at(0)["done"].get<std::size_t>() : 0;
  }

  tests::TempFolder folder_;
};

TEST_F(Output, MessagesThatCannotBeWrittenStopNothing) {
  int number = 0;
  for (const char* lost : {"2>&-", "2>/dev/full", "<&- 2>&-"}) {
    const std::string store = fmt::format("{}.db", ++number);
    const Result study = in_folder("$T study study.toml --store " + store + " " + lost);
    EXPECT_EQ(study.exit_code, kDone) << lost;
    expect_parts(study.out, {"adam", "momentum", "baseline"});
    EXPECT_EQ(finished_units(store), 5U) << lost;
    // Nothing of the messages is in the store, which would have been descriptor 2.
    EXPECT_EQ(contents(folder_ / store).find("members and then"), std::string::npos);
    EXPECT_EQ(contents(folder_ / store).rfind("SQLite format 3", 0), 0U);
  }
  // Those of errors, and of help.
  for (const char* words : {"report --store no.db", "optimizers --jsno", ""}) {
    for (const char* lost : {"2>&-", "2>/dev/full"}) {
      const Result result = in_folder(fmt::format("$T {} {}", words, lost));
      EXPECT_GE(result.exit_code, kUsage) << words << " " << lost;
      EXPECT_LE(result.exit_code, kData) << words << " " << lost;
    }
  }
}

TEST_F(Output, ResultsThatCannotBeWrittenAreAnError) {
  ASSERT_EQ(in_folder("$T study study.toml --store a.db").exit_code, kDone);
  const std::string data = "--data synthetic:rows=64,features=2 ";
  for (const std::string& words :
       {std::string("report --store a.db"), std::string("report --store a.db --format csv"),
        std::string("report --store a.db --json"), std::string("runs list --store a.db"),
        std::string("runs list --json --store a.db"), std::string("runs show small --store a.db"),
        std::string("export csv --store a.db"), std::string("export jsonl --store a.db"),
        "train --epochs 1 " + data, "train --epochs 1 --json " + data,
        "optimum --lambda 0.1 " + data, "optimum --lambda 0.1 --json " + data,
        std::string("data list"), std::string("data describe synthetic:rows=64,features=2"),
        std::string("optimizers"), std::string("paper"), std::string("--version"),
        std::string("--help"), std::string("train --help")}) {
    for (const char* lost : {">/dev/full", ">&-"}) {
      const Result result = in_folder("$T " + words + " 2>&1 " + lost);
      EXPECT_EQ(result.exit_code, kFailed) << words << " " << lost;
      const Result both = in_folder("$T " + words + " 2>message " + lost);
      EXPECT_EQ(both.exit_code, kFailed) << words << " " << lost;
      expect_parts(contents(folder_ / "message"),
                   {std::string("tandem: cannot write the output: ") +
                    (lost[1] == '/' ? "No space left on device" : "Bad file descriptor")});
    }
  }
}

TEST_F(Output, WorkIsKeptWhereResultsAreLost) {
  for (const char* words : {"", "--json "}) {
    const Result result =
        in_folder(std::string("$T study study.toml --store kept.db ") + words + ">/dev/full");
    EXPECT_EQ(result.exit_code, kFailed) << words;
    EXPECT_EQ(finished_units("kept.db"), 5U);
    fs::remove(folder_ / "kept.db");
  }
  const std::string train =
      "$T train --json --epochs 3 --data synthetic:rows=64,features=2 --checkpoint point";
  EXPECT_EQ(in_folder(train + " >/dev/full").exit_code, kFailed);
  const Result resumed = in_folder(train);
  EXPECT_EQ(resumed.exit_code, kDone);
  EXPECT_EQ(json_lines(resumed.out).back()["event"], "done");
}

TEST_F(Output, AReaderThatWentAwayEndsItAsUsual) {
  ASSERT_EQ(in_folder("$T study study.toml --store a.db").exit_code, kDone);
  // More than a pipe holds.
  const Result result = in_folder(
      "{ for i in 1 2 3 4 5 6 7 8; do $T export jsonl --grid --store a.db; $T --help; done; } "
      "2>message | head -n 1");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(contents(folder_ / "message").find("terminate"), std::string::npos);
}

TEST_F(Output, FilesThatBecomeTooLargeAreTold) {
  for (const char* words : {"study study.toml --store large.db",
                            "train --epochs 1 --data synthetic:rows=64,features=2000 "
                            "--checkpoint large",
                            "optimum --lambda 1 --data synthetic:rows=64,features=2000 "
                            "--max-iterations 0 --save large"}) {
    const Result result = in_folder(fmt::format("ulimit -f 4; $T {} 2>&1 >/dev/null", words));
    EXPECT_TRUE(result.exit_code == kFailed || result.exit_code == kData)
        << words << ": " << result.exit_code;
    expect_parts(result.out, {"tandem: ", "large"});
    EXPECT_TRUE(result.out.find("File too large") != std::string::npos ||
                result.out.find("limit on file sizes") != std::string::npos)
        << result.out;
  }
}

TEST_F(Output, FilesThatAreNoRegularFilesStayWhatTheyAre) {
  ASSERT_EQ(in_folder("$T study study.toml --store a.db").exit_code, kDone);
  // A null device of our own: as the superuser the program could replace the machine's.
  const std::string device =
      mknod((folder_ / "null").c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0 &&
              std::ofstream(folder_ / "null")
          ? "null"
          : "/dev/null";
  const std::string data = "--data synthetic:rows=64,features=2 ";
  for (const std::string& words :
       {"report --store a.db --html " + device, "export csv --store a.db --out " + device,
        "train --epochs 2 " + data + "--checkpoint " + device,
        "optimum --lambda 0.1 " + data + "--save " + device}) {
    EXPECT_EQ(in_folder("$T " + words).exit_code, kDone) << words;
    EXPECT_TRUE(fs::is_character_file(folder_ / device)) << words;
  }
  const Result page = in_folder("$T report -q --store a.db --html /dev/stdout --static");
  EXPECT_EQ(page.exit_code, kDone);
  expect_parts(page.out, {"<!DOCTYPE html>", "</html>", "momentum"});
  const Result fifo = in_folder(
      "mkfifo fifo; cat fifo & $T report -q --store a.db --html fifo --static >/dev/null; wait");
  expect_parts(fifo.out, {"<!DOCTYPE html>", "</html>"});
  EXPECT_TRUE(fs::is_fifo(folder_ / "fifo"));
  // A private file stays private, and a link a link.
  in_folder("touch page; chmod 600 page; ln -s page link; $T report --store a.db --html link");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  expect_parts(contents(folder_ / "page"), {"</html>"});
  EXPECT_EQ(fs::status(folder_ / "page").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Output, NamesAreQuotedAndCannotSteerTheTerminal) {
  // A space, a command, a quote, an escape sequence, C1 control, right-to-left override.
  write_study(R"(a $(touch pwned) 'b' \u001b]0;title\u0007 \u009b31m \u202e)");
  const Result study = in_folder("$T study study.toml --store 'my store.db' 2>&1");
  ASSERT_EQ(study.exit_code, kDone) << study.out;
  const Result listed = in_folder("$T runs list --store 'my store.db' 2>&1");
  const Result report = in_folder("$T report --store 'my store.db' 2>&1");
  const Result json = in_folder("$T runs list --json --store 'my store.db' 2>&1");
  const std::string name = json_lines(json.out).at(0)["study"];
  const Result other = in_folder(
      "sed -i 's/epochs = 2/epochs = 3/' study.toml; "
      "$T study study.toml --store 'my store.db' 2>&1");
  EXPECT_EQ(other.exit_code, kData);
  for (const Result* result : {&study, &listed, &report, &other}) {
    for (const char* raw : {"\x1b", "\x07", "\xc2\x9b", "\xe2\x80\xae"}) {
      EXPECT_EQ(result->out.find(raw), std::string::npos) << result->out;
    }
  }
  expect_parts(listed.out, {R"(\x1b]0;title\x07 \u009b31m \u202e)"});
  // What is suggested does what it says, and nothing else.
  expect_parts(study.out, {"--store 'my store.db' --study $'a $(touch pwned) "});
  if (shell("bash -c true").exit_code != 0) GTEST_SKIP() << "no bash";
  const std::size_t start = study.out.find("tandem report --store");
  const std::string command =
      study.out.substr(start, study.out.find(" makes a page", start) - start);
  std::ofstream(folder_ / "script") << "tandem() { \"$T\" \"$@\"; }\n" << command << "\n";
  EXPECT_EQ(in_folder("bash script").exit_code, kDone) << command;
  EXPECT_TRUE(fs::exists(folder_ / "report.html"));
  EXPECT_FALSE(fs::exists(folder_ / "pwned"));
  const std::size_t removal = other.out.find("`tandem runs rm") + 1;
  std::ofstream(folder_ / "script")
      << "tandem() { \"$T\" \"$@\"; }\n"
      << other.out.substr(removal, other.out.rfind('`') - removal) << "\n";
  EXPECT_EQ(in_folder("bash script").exit_code, kDone) << other.out;
  EXPECT_EQ(in_folder("$T runs list --json --store 'my store.db'").out, "");
}

TEST_F(Output, DataOnATerminalCannotSteerItEither) {
  write_study(R"(a \u001b[31m)");
  ASSERT_EQ(in_folder("$T study study.toml --store a.db").exit_code, kDone);
  const std::string store = (folder_ / "a.db").string();
  for (const char* format : {"csv", "jsonl"}) {
    int terminal = -1;
    const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
    if (child == 0) {
      execl(TANDEM_PROGRAM, TANDEM_PROGRAM, "export", format, "--store", store.c_str(), nullptr);
      _exit(99);
    }
    ASSERT_GT(child, 0);
    std::string shown;
    std::array<char, 4096> buffer{};
    for (ssize_t count = 1; count > 0;) {
      count = read(terminal, buffer.data(), buffer.size());
      if (count > 0) shown.append(buffer.data(), static_cast<std::size_t>(count));
    }
    close(terminal);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), kDone) << format;
    EXPECT_EQ(shown.find('\x1b'), std::string::npos) << shown;
    EXPECT_EQ(shown.find("x0d"), std::string::npos) << shown;
  }
  // For another program it is what it is.
  const Result piped = in_folder("$T export csv --store a.db");
  EXPECT_NE(piped.out.find("a \x1b[31m"), std::string::npos) << piped.out;
}

TEST_F(Output, NamesOfFilesMayBeAnyBytes) {
  const fs::path folder = folder_ / "caf\xe9";
  fs::create_directory(folder);
  std::ofstream(folder / "x.csv") << "1,2,a\n2,3,b\n3,4,a\n4,4,b\n";
  fs::rename(folder_ / "study.toml", folder / "study.toml");
  const std::string from = "cd caf* && ";
  EXPECT_EQ(in_folder(from + "$T study $PWD/study.toml --json --store $PWD/a.db").exit_code, kDone);
  for (const char* words :
       {"report --json --store $PWD/a.db", "report --store $PWD/a.db --html $PWD/x.html",
        "runs list --json --store $PWD/a.db",
        "export csv --store $PWD/a.db --out $PWD/x.out --json",
        "export tensorboard --store $PWD/a.db --out $PWD/events --json",
        "data describe csv:$PWD/x.csv --json",
        "train --json --epochs 1 --batch 2 --data csv:$PWD/x.csv --checkpoint $PWD/point",
        "train --epochs 1 --batch 2 --data csv:$PWD/x.csv",
        "optimum --json --lambda 1 --data csv:$PWD/x.csv --save $PWD/least",
        "runs merge $PWD/a.db --store $PWD/b.db --json"}) {
    const Result result = in_folder(from + "$T " + words + " 2>&1");
    EXPECT_EQ(result.exit_code, kDone) << words << ": " << result.out;
  }
  for (const char* words : {"report --store $PWD/no.db", "study $PWD/no.toml",
                            "train --data csv:$PWD/no.csv", "runs merge $PWD/no.db"}) {
    const Result result = in_folder(from + "$T " + words + " 2>&1");
    EXPECT_TRUE(result.exit_code == kUsage || result.exit_code == kData) << words << result.out;
    expect_parts(result.out, {"caf\\xe9/no."});
    EXPECT_EQ(result.out.find("exception"), std::string::npos) << result.out;
  }
}

TEST_F(Output, ADamagedCheckpointIsNamed) {
  const std::string train = "$T train --epochs 2 --data synthetic:rows=64,features=2 --checkpoint ";
  ASSERT_EQ(in_folder(train + "whole").exit_code, kDone);
  const std::string whole = contents(folder_ / "whole");
  folder_.write("empty", "");
  std::ofstream(folder_ / "text") << "this is no checkpoint\n";
  std::ofstream(folder_ / "half", std::ios::binary) << whole.substr(0, whole.size() / 2);
  std::string changed = whole;
  changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 1);
  std::ofstream(folder_ / "changed", std::ios::binary) << changed;
  for (const char* name : {"empty", "text", "half", "changed"}) {
    const Result result = in_folder(train + name + " 2>&1 >/dev/null");
    EXPECT_EQ(result.exit_code, kData) << name << ": " << result.out;
    expect_parts(result.out, {std::string("tandem: ") + name + ": "});
  }
  expect_end(in_folder("$T train --epochs 2 --seed 7 --data synthetic:rows=64,features=2 "
                       "--checkpoint whole 2>&1 >/dev/null"),
             kData, {"tandem: whole: ", "another run"});
  expect_end(in_folder(train + ". 2>&1 >/dev/null"), kUsage, {"--checkpoint . is a folder"});
  EXPECT_EQ(contents(folder_ / "half"), whole.substr(0, whole.size() / 2));
}

}  // namespace
}  // namespace tandem::cli
