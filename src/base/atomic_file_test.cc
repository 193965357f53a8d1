// SPDX-License-Identifier: MIT
#include "base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <iterator>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/temp_folder.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777U;
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

class AtomicFile : public ::testing::Test {
 protected:
  static void write(const fs::path& path, const std::string& text) {
    write_atomically(path, [&](std::ostream& stream) { stream << text; });
  }
  /// What the refusal says; empty if there was none.
  static std::string refusal(const fs::path& path, const std::string& text = "x") {
    try {
      write(path, text);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }

  tests::TempFolder folder_;
};

TEST_F(AtomicFile, NewFilesHaveTheRightsOfTheUmask) {
  const mode_t before = umask(027);
  write(folder_ / "a", "text");
  umask(before);
  EXPECT_EQ(contents(folder_ / "a"), "text");
  EXPECT_EQ(mode_of(folder_ / "a"), 0640U);
  EXPECT_EQ(files_in(folder_.path()), 1U);
}

TEST_F(AtomicFile, ReplacedFilesKeepTheirRights) {
  for (const mode_t mode : {0600U, 0644U, 0666U, 0755U}) {
    const fs::path file = folder_ / fmt::format("{:o}", mode);
    std::ofstream(file) << "old and longer";
    ASSERT_EQ(chmod(file.c_str(), mode), 0);
    write(file, "new");
    EXPECT_EQ(contents(file), "new");
    EXPECT_EQ(mode_of(file), mode);
  }
}

TEST_F(AtomicFile, TheSuperuserKeepsTheOwner) {
  if (geteuid() != 0) GTEST_SKIP() << "not the superuser";
  const fs::path file = folder_ / "a";
  std::ofstream(file) << "old";
  ASSERT_EQ(chown(file.c_str(), 1234, 2345), 0);
  ASSERT_EQ(chmod(file.c_str(), 0640), 0);
  write(file, "new");
  struct stat status {};
  ASSERT_EQ(stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 1234U);
  EXPECT_EQ(status.st_gid, 2345U);
  EXPECT_EQ(mode_of(file), 0640U);
}

TEST_F(AtomicFile, LinksStayAndWhatTheyPointToIsWritten) {
  fs::create_directory(folder_ / "there");
  std::ofstream(folder_ / "there/file") << "old";
  fs::create_symlink("there/file", folder_ / "one");
  fs::create_symlink(folder_ / "one", folder_ / "two");
  write(folder_ / "two", "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "two"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "one"));
  EXPECT_FALSE(fs::is_symlink(folder_ / "there/file"));
  EXPECT_EQ(contents(folder_ / "there/file"), "new");
}

TEST_F(AtomicFile, ALinkToNothingMakesItsTarget) {
  fs::create_directory(folder_ / "there");
  fs::create_symlink("there/file", folder_ / "link");
  write(folder_ / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(contents(folder_ / "there/file"), "new");
  fs::create_symlink("nowhere/file", folder_ / "other");
  EXPECT_NE(refusal(folder_ / "other").find("there is no folder"), std::string::npos);
}

TEST_F(AtomicFile, LoopsOfLinksAreRefused) {
  fs::create_symlink("b", folder_ / "a");
  fs::create_symlink("a", folder_ / "b");
  EXPECT_EQ(
      refusal(folder_ / "a"),
      fmt::format("Cannot write {}: Too many levels of symbolic links", (folder_ / "a").string()));
}

TEST_F(AtomicFile, DevicesAreWrittenThrough) {
  // A node of our own where that is possible; the machine's null device else.
  const fs::path node = folder_ / "null";
  const bool made = mknod(node.c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0;
  const fs::path device = made && open(node.c_str(), O_WRONLY) >= 0 ? node : "/dev/null";
  write(device, "gone");
  EXPECT_TRUE(fs::is_character_file(device));
  const std::string full = refusal("/dev/full");
  EXPECT_EQ(full, "Cannot write /dev/full: No space left on device");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(AtomicFile, FifosAreWrittenThrough) {
  const fs::path fifo = folder_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = contents(fifo); });
  const std::string text(300'000, 'x');  // more than a pipe holds
  write(fifo, text);
  reader.join();
  EXPECT_EQ(read, text);
  EXPECT_TRUE(fs::is_fifo(fifo));
}

TEST_F(AtomicFile, DescriptorsOfThisProcessAreWrittenWhereTheyStand) {
  const fs::path file = folder_ / "file";
  const int number = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(number, 0);
  ASSERT_EQ(::write(number, "before ", 7), 7);
  write(fmt::format("/proc/self/fd/{}", number), "through ");
  write(fmt::format("/dev/fd/{}", number), "again ");
  ASSERT_EQ(::write(number, "after", 5), 5);
  close(number);
  EXPECT_EQ(contents(file), "before through again after");

  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  write(fmt::format("/dev/fd/{}", ends[1]), "text");
  std::array<char, 8> got{};
  EXPECT_EQ(read(ends[0], got.data(), got.size()), 4);
  close(ends[0]);
  close(ends[1]);
  EXPECT_NE(refusal(fmt::format("/dev/fd/{}", ends[1])), "");
}

TEST_F(AtomicFile, FailuresNameTheFileAndTheReasonAndLeaveNothing) {
  EXPECT_EQ(refusal(""), "Cannot write a file: its name is empty");
  EXPECT_EQ(refusal(folder_ / "no/file"),
            fmt::format("Cannot write {}: there is no folder {}", (folder_ / "no/file").string(),
                        (folder_ / "no").string()));
  EXPECT_EQ(refusal(folder_.path()),
            fmt::format("Cannot write {}: Is a directory", folder_.path().string()));
  write(folder_ / "a", "old");
  EXPECT_THROW(write_atomically(folder_ / "a",
                                [](std::ostream& stream) {
                                  stream << "half";
                                  throw std::logic_error("no more");
                                }),
               std::logic_error);
  EXPECT_THROW(write_atomically(folder_ / "a",
                                [](std::ostream& stream) { stream.setstate(std::ios::failbit); }),
               std::runtime_error);
  EXPECT_EQ(contents(folder_ / "a"), "old");
  EXPECT_EQ(files_in(folder_.path()), 1U);
  // The system's reason, not that of the writer who noticed it.
  const auto writer = [](std::ostream& stream) {
    if (!stream.flush().write("x", 1).flush()) throw std::logic_error("the stream failed");
  };
  try {
    write_atomically("/dev/full", writer);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "Cannot write /dev/full: No space left on device");
  }
}

TEST_F(AtomicFile, AFileThatBecomesTooLargeLeavesTheOldOne) {
  write(folder_ / "a", "old");
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 10'000, .rlim_max = 10'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string said = refusal(folder_ / "a", std::string(20'000, 'x'));
    _exit(said.find("File too large") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(contents(folder_ / "a"), "old");
  EXPECT_EQ(files_in(folder_.path()), 1U);
}

TEST_F(AtomicFile, LargeAndSmallPiecesStayInOrder) {
  std::string text;
  write_atomically(folder_ / "a", [&](std::ostream& stream) {
    for (std::size_t size : {0, 1, 7, 65'535, 65'536, 3, 200'000, 1, 65'530, 6, 5}) {
      const std::string piece(size, static_cast<char>('a' + text.size() % 26));
      stream << piece;
      stream.put('|');
      text += piece + '|';
    }
  });
  EXPECT_EQ(contents(folder_ / "a"), text);
}

}  // namespace
}  // namespace tandem
