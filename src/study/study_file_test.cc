// SPDX-License-Identifier: MIT
// Study files: what they say, and what is said about those that are wrong.
#include "study/study_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/temp_folder.h"

namespace tandem::study {
namespace {

const std::string kTask = "[[task]]\ndata = \"synthetic\"\n";
const std::string kAdam = "[[optimizer]]\nname = \"adam\"\n";

StudySpec parse(const std::string& text) { return parse_study(text, "x.toml"); }

/// The message about the text begins with the file and the line and has all the parts.
void expect_error(const std::string& text, int line, const std::vector<std::string>& parts) {
  SCOPED_TRACE(text);
  try {
    parse(text);
    ADD_FAILURE() << "no error";
  } catch (const std::invalid_argument& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.rfind(fmt::format("x.toml:{}: ", line), 0), 0U) << message;
    for (const std::string& part : parts) {
      EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks: " << part;
    }
  }
}

/// A line at the top, in a task, in an optimizer: there the fifth, and what its settings say
/// against it has the line of the table, the third.
void expect_top(const std::string& lines, const std::vector<std::string>& parts) {
  expect_error(lines + "\n" + kTask + kAdam, 1, parts);
}
void expect_task(const std::string& line, const std::vector<std::string>& parts) {
  expect_error(kTask + line + "\n" + kAdam, 3, parts);
}
void expect_optimizer(const std::string& line, int at, const std::vector<std::string>& parts) {
  expect_error(kTask + kAdam + line + "\n", at, parts);
}

constexpr const char* kExample = R"(name = "kdd"
epochs = 20
tune_seed = 0                 # tuned on this seed ...
seeds = [1, 2, 3, 4, 5]       # ... measured on these

[[task]]
data = "nsl-kdd"
model = "logistic"            # or "ffn:10", "resnet18", ...
lambda = [0.97, 0.023]
batch = 64

[[optimizer]]
name = "adam"
baseline = true               # rho is relative to this one
lr = [1e-4, 1e-3, 5e-3]
decay = [1, 0.6, 0.8, 0.95]   # 1 is constant

[[optimizer]]
name = "diag-to"
lr = [0.01, 0.1, 0.5]
alpha = [0, 0.01, 0.1]
beta = [0.1, 0.5, 1]
decay = [1, 0.6, 0.8, 0.95]
)";

TEST(StudyFile, TheExampleOfTheDesign) {
  const StudySpec study = parse(kExample);
  EXPECT_EQ(study.name, "kdd");
  EXPECT_EQ(study.epochs, 20U);
  EXPECT_EQ(study.tune_seed, 0U);
  EXPECT_EQ(study.seeds, (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
  ASSERT_EQ(study.tasks.size(), 2U);
  for (const TaskSpec& task : study.tasks) {
    EXPECT_EQ(task.data, "nsl-kdd");
    EXPECT_EQ(task.model, "logistic");
    EXPECT_EQ(task.batch, 64U);
  }
  EXPECT_EQ(study.tasks[0].lambda, 0.97);
  EXPECT_EQ(study.tasks[1].lambda, 0.023);
  ASSERT_EQ(study.optimizers.size(), 2U);
  const OptimizerSpec& adam = study.optimizers[0];
  EXPECT_EQ(adam.method, "adam");
  EXPECT_EQ(adam.label, "adam");
  EXPECT_TRUE(adam.baseline);
  EXPECT_EQ(adam.grid,
            (Grid{{"lr", {"0.0001", "0.001", "0.005"}}, {"decay", {"1", "0.6", "0.8", "0.95"}}}));
  const OptimizerSpec& to = study.optimizers[1];
  EXPECT_EQ(to.label, "diag-to");
  EXPECT_FALSE(to.baseline);
  EXPECT_EQ(to.grid, (Grid{{"lr", {"0.01", "0.1", "0.5"}},
                           {"alpha", {"0", "0.01", "0.1"}},
                           {"beta", {"0.1", "0.5", "1"}},
                           {"decay", {"1", "0.6", "0.8", "0.95"}}}));
  EXPECT_EQ(expand(to.method, to.grid).size(), 108U);
}

TEST(StudyFile, TheFilesOfTheRepositoryAreRight) {
  std::size_t files = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(TANDEM_SOURCE_DIR "/studies")) {
    if (entry.path().extension() != ".toml") continue;
    EXPECT_NO_THROW(read_study(entry.path())) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 0U);
}

TEST(StudyFile, APartOfAGridTakesTheRestFromTheWhole) {
  const std::string text = std::string(kExample) +
                           "[[optimizer]]\npart_of = \"diag-to\"\nlabel = \"alpha = 0\"\n"
                           "ablation = true\nalpha = 0\ndecay = [0.8, 1]\n";
  const StudySpec study = parse(text);
  const OptimizerSpec& part = study.optimizers.at(2);
  EXPECT_EQ(part.method, "diag-to");
  EXPECT_EQ(part.part_of, "diag-to");
  EXPECT_TRUE(part.ablation);
  EXPECT_FALSE(study.optimizers[1].ablation);
  EXPECT_EQ(part.grid, (Grid{{"lr", {"0.01", "0.1", "0.5"}},
                             {"alpha", {"0"}},
                             {"beta", {"0.1", "0.5", "1"}},
                             {"decay", {"0.8", "1"}}}));
  EXPECT_TRUE(in_grid(part.grid, {{"lr", "0.1"}, {"alpha", "0"}, {"beta", "1"}, {"decay", "1"}}));
  EXPECT_FALSE(
      in_grid(part.grid, {{"lr", "0.1"}, {"alpha", "0.1"}, {"beta", "1"}, {"decay", "1"}}));
  EXPECT_FALSE(in_grid(part.grid, {{"lr", "0.1"}, {"alpha", "0"}}));

  const std::string canonical = canonical_text(study);
  EXPECT_NE(canonical, canonical_text(parse(kExample)));
  const std::vector<OptimizerSpec> again = optimizers_of(canonical);
  ASSERT_EQ(again.size(), 3U);
  for (std::size_t i = 0; i < again.size(); ++i) {
    EXPECT_EQ(again[i].label, study.optimizers[i].label);
    EXPECT_EQ(again[i].method, study.optimizers[i].method);
    EXPECT_EQ(again[i].baseline, study.optimizers[i].baseline);
    EXPECT_EQ(again[i].part_of, study.optimizers[i].part_of);
    EXPECT_EQ(again[i].ablation, study.optimizers[i].ablation);
    EXPECT_EQ(again[i].grid, study.optimizers[i].grid);
  }
  EXPECT_TRUE(optimizers_of("no study").empty());
  EXPECT_TRUE(optimizers_of("{}").empty());
}

TEST(StudyFile, WrongPartsAreNamed) {
  const std::string above = kTask + kAdam + "lr = [0.1, 0.2]\n[[optimizer]]\nlabel = \"p\"\n";
  expect_error(above + "part_of = \"adma\"\n", 8,
               {"Invalid part_of: adma", "an optimizer above", "did you mean 'adam'"});
  expect_error(above + "part_of = \"adam\"\nlr = 0.3\n", 9,
               {"Invalid lr: 0.3 is not in the grid of adam"});
  expect_error(above + "part_of = \"adam\"\ndecay = 0.3\n", 9,
               {"Invalid decay: 0.3 is not in the grid of adam"});
  expect_error(above + "part_of = \"adam\"\nname = \"sgd\"\n", 9,
               {"Invalid name", "expected adam, as adam has it"});
  expect_error(above + "part_of = \"adam\"\nlr = 0.1\n[[optimizer]]\npart_of = \"p\"\n", 11,
               {"Invalid part_of: p"});
  expect_error("prune = 2\n" + above + "part_of = \"adam\"\nlr = 0.1\n", 9,
               {"Invalid part_of: the grid is pruned"});
}

TEST(StudyFile, DefaultsAreThoseOfTheManual) {
  const StudySpec study = parse_study(kTask + kAdam, "folder/some.name.toml");
  EXPECT_EQ(study.name, "some.name");
  EXPECT_EQ(study.epochs, 20U);
  EXPECT_EQ(study.tune_seed, 0U);
  EXPECT_EQ(study.seeds, (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(study.prune, 0U);
  EXPECT_FALSE(study.diagnose);
  EXPECT_TRUE(study.optimum);
  ASSERT_EQ(study.tasks.size(), 1U);
  const TaskSpec& task = study.tasks[0];
  EXPECT_EQ(task.model, "logistic");
  EXPECT_EQ(task.lambda, 0);
  EXPECT_EQ(task.batch, 64U);
  EXPECT_EQ(task.validation, 0);
  EXPECT_EQ(task.init, train::Init::normal);
  EXPECT_TRUE(task.shuffle);
  EXPECT_EQ(task.sampling, train::Sampling::epochs);
  EXPECT_TRUE(task.data_options.empty());
  ASSERT_EQ(study.optimizers.size(), 1U);
  EXPECT_TRUE(study.optimizers[0].grid.empty());
  EXPECT_FALSE(study.optimizers[0].baseline);
}

TEST(StudyFile, EveryKeyIsRead) {
  const StudySpec study = parse(R"(
name = "all"
epochs = 7
tune_seed = 9
seeds = 4
prune = 3
diagnose = true
optimum = false
[[task]]
data = "synthetic"
options = { rows = 50, noise = 0.5 }
model = "ffn:3,2"
lambda = 1
batch = 5
validation = 0.25
init = "zeros"
shuffle = false
sampling = "independent"
[[optimizer]]
name = "svrg+diag-to"
label = "mine"
baseline = true
lr = "0.1*0.95^epoch"
normalize = [true, false]
)");
  EXPECT_EQ(study.name, "all");
  EXPECT_EQ(study.epochs, 7U);
  EXPECT_EQ(study.tune_seed, 9U);
  EXPECT_EQ(study.seeds, std::vector<std::uint64_t>{4});
  EXPECT_EQ(study.prune, 3U);
  EXPECT_TRUE(study.diagnose);
  EXPECT_FALSE(study.optimum);
  const TaskSpec& task = study.tasks.at(0);
  EXPECT_EQ(task.data_options,
            (std::map<std::string, std::string>{{"noise", "0.5"}, {"rows", "50"}}));
  EXPECT_EQ(task.model, "ffn:3,2");
  EXPECT_EQ(task.lambda, 1);
  EXPECT_EQ(task.batch, 5U);
  EXPECT_EQ(task.validation, 0.25);
  EXPECT_EQ(task.init, train::Init::zeros);
  EXPECT_FALSE(task.shuffle);
  EXPECT_EQ(task.sampling, train::Sampling::independent);
  const OptimizerSpec& optimizer = study.optimizers.at(0);
  EXPECT_EQ(optimizer.label, "mine");
  EXPECT_EQ(optimizer.method, "svrg+diag-to");
  EXPECT_EQ(optimizer.grid, (Grid{{"lr", {"0.1*0.95^epoch"}}, {"normalize", {"true", "false"}}}));
}

// ---- The canonical text -------------------------------------------------------------------------

TEST(StudyFile, OrderAndCommentsDoNotMakeAnotherStudy) {
  const std::string a = "name = \"a\"\nepochs = 3\n" + kTask + "lambda = 0.1\nbatch = 8\n" + kAdam +
                        "lr = [0.1, 0.2]\ndecay = 1\n";
  const std::string b =
      "# a comment\nepochs = 3 # here too\nname = 'a'\n[[optimizer]]\ndecay = 1.0\n"
      "lr = [\n  1e-1,\n  0.20,\n]\nname = \"adam\"\n[[task]]\nbatch = 8\nlambda = [0.1]\n"
      "data = \"synthetic\"\n";
  EXPECT_EQ(canonical_text(parse(a)), canonical_text(parse(b)));
  // Defaults may be written out.
  EXPECT_EQ(canonical_text(parse(kTask + kAdam)),
            canonical_text(parse("name = \"x\"\nepochs = 20\nseeds = [1, 2, 3, 4, 5]\nprune = 0\n" +
                                 kTask + "lambda = -0.0\nshuffle = true\n" + kAdam)));
}

TEST(StudyFile, EveryValueIsInTheCanonicalText) {
  const std::string task = kTask + "lambda = 0.1\n";
  const std::string adam = kAdam + "lr = [0.1, 0.2]\n";
  const std::vector<std::string> texts{
      task + adam,
      "name = \"y\"\n" + task + adam,
      "epochs = 21\n" + task + adam,
      "tune_seed = 6\n" + task + adam,
      "seeds = [1, 2, 3, 4]\n" + task + adam,
      "seeds = [5, 4, 3, 2, 1]\n" + task + adam,
      "prune = 2\n" + task + adam,
      "diagnose = true\n" + task + adam,
      "optimum = false\n" + task + adam,
      kTask + "lambda = [0.1, 0.2]\n" + adam,
      kTask + "lambda = 0.2\n" + adam,
      kTask + "lambda = 0.10000000000000002\n" + adam,
      task + "batch = 65\n" + adam,
      task + "model = \"ffn:2\"\n" + adam,
      task + "validation = 0.5\n" + adam,
      task + "init = \"zeros\"\n" + adam,
      task + "shuffle = false\n" + adam,
      task + "sampling = \"independent\"\n" + adam,
      task + "options = { rows = 9 }\n" + adam,
      "[[task]]\ndata = \"synthetic:rows=9\"\nlambda = 0.1\n" + adam,
      task + adam + "label = \"a\"\n",
      task + adam + "baseline = true\n",
      task + adam + "beta1 = 0.8\n",
      task + kAdam + "lr = [0.2, 0.1]\n",
      task + kAdam + "lr = [0.1]\n",
      task + "[[optimizer]]\nname = \"sgd\"\nlabel = \"adam\"\nlr = [0.1, 0.2]\n",
      task + adam + "[[optimizer]]\nname = \"sgd\"\n"};
  std::set<std::string> seen;
  for (const std::string& text : texts) {
    const std::string canonical = canonical_text(parse(text));
    EXPECT_TRUE(nlohmann::json::accept(canonical)) << canonical;
    EXPECT_TRUE(seen.insert(canonical).second) << text;
  }
}

TEST(StudyFile, NamesWithQuotesStayJson) {
  StudySpec study = parse(kTask + kAdam + "label = 'a \"b\"\\ {}'\n");
  const auto json = nlohmann::json::parse(canonical_text(study));
  EXPECT_EQ(json["optimizers"][0]["label"], "a \"b\"\\ {}");
}

// ---- Errors -------------------------------------------------------------------------------------

TEST(StudyFile, SyntaxErrorsHaveTheirLine) {
  expect_error("epochs = 3\nname = \n", 2, {});
  expect_error("epochs = 3\nepochs = 4\n", 2, {"epochs"});
  expect_error("a = [1,\n2\n3]\n", 3, {});
  expect_error("epochs = 99999999999999999999\n", 1, {});
  expect_error("name = \"\xff\"\n", 1, {});
}

TEST(StudyFile, UnknownKeysComeWithTheNearestKnownOne) {
  expect_top("epoch = 3", {"Unknown key 'epoch'", "'epochs'"});
  expect_top("seed = [3]", {"Unknown key 'seed'", "'seeds'"});
  expect_top("zzz = 3", {"Unknown key 'zzz'", "expected one of", "tune_seed"});
  expect_error(kTask + "[[optimizers]]\nname = \"adam\"\n", 3, {"'optimizers'", "'optimizer'"});
  expect_error("[[tasks]]\ndata = \"synthetic\"\n" + kAdam, 1, {"'tasks'", "'task'"});
  expect_task("lamda = 1", {"[[task]] 1", "Unknown key 'lamda'", "'lambda'"});
  expect_optimizer("lrr = 1", 3, {"[[optimizer]] 1", "lrr", "'lr'"});
  expect_error(kTask + kTask + "lambda = 1\nbatc = 1\n" + kAdam, 6, {"[[task]] 2", "'batch'"});
}

TEST(StudyFile, WrongTypesAreRefused) {
  expect_top("epochs = \"a\"", {"Invalid epochs", "a", "expected a whole number of at least 1"});
  expect_top("epochs = true", {"Invalid epochs: true", "expected a whole number"});
  expect_top("epochs = 2.5", {"Invalid epochs: 2.5", "expected a whole number"});
  expect_top("epochs = [2]", {"Invalid epochs", "expected a whole number"});
  expect_top("seeds = [1, 2.0]", {"Invalid seeds: 2.0", "expected a whole number"});
  expect_top("name = 5", {"Invalid name: 5", "expected text"});
  expect_top("diagnose = 1", {"Invalid diagnose: 1", "expected true or false"});
  expect_top("optimum = \"no\"", {"Invalid optimum", "expected true or false"});
  expect_task("lambda = true", {"Invalid lambda: true", "expected a number"});
  expect_task("lambda = \"0.1\"", {"Invalid lambda", "0.1", "expected a number"});
  expect_task("batch = 1.0", {"Invalid batch: 1.0", "expected a whole number"});
  expect_task("shuffle = \"off\"", {"Invalid shuffle", "expected true or false"});
  expect_task("options = 3", {"Invalid options: 3", "NAME = VALUE"});
  expect_task("options = { rows = [1] }", {"Invalid rows", "expected a number, text"});
  expect_task("init = 0", {"Invalid init: 0", "expected text"});
  expect_optimizer("baseline = 1", 5, {"Invalid baseline: 1", "expected true or false"});
  expect_optimizer("lr = [[1]]", 5, {"Invalid lr", "expected a number, text, true or false"});
  expect_optimizer("lr = { a = 1 }", 5, {"Invalid lr"});
  expect_optimizer("lr = 2020-01-01", 5, {"Invalid lr"});
  expect_error("[task]\ndata = \"synthetic\"\n" + kAdam, 1, {"task", "expected [[task]]"});
  expect_error("task = [1]\n" + kAdam, 1, {"expected [[task]]"});
  expect_error("optimizer = []\n" + kTask, 1, {"expected [[optimizer]]"});
}

TEST(StudyFile, ValuesOutOfRangeAreRefused) {
  expect_top("epochs = 0", {"Invalid epochs: 0", "at least 1"});
  expect_top("epochs = -1", {"Invalid epochs: -1", "at least 1"});
  expect_top("epochs = 9223372036854775807", {"9223372036854775807", "at most 1000000"});
  expect_top("seeds = [1, -2]", {"Invalid seeds: -2", "at least 0"});
  expect_top("seeds = []", {"Invalid seeds: an empty list"});
  expect_top("name = \"\"", {"Invalid name"});
  expect_top("prune = 1", {"Invalid prune: 1", "expected 0", "2 and more"});
  expect_top("prune = -2", {"Invalid prune: -2"});
  expect_task("lambda = -0.1", {"Invalid lambda: -0.1", "at least 0"});
  expect_task("lambda = nan", {"Invalid lambda: nan", "at least 0"});
  expect_task("lambda = inf", {"Invalid lambda: inf", "at least 0"});
  expect_task("lambda = [0.1, -inf]", {"Invalid lambda: -inf", "at least 0"});
  expect_task("lambda = []", {"Invalid lambda: an empty list"});
  expect_task("batch = 0", {"Invalid batch: 0", "at least 1"});
  expect_task("validation = 1", {"Invalid validation: 1", "a fraction below 1"});
  expect_task("validation = nan", {"Invalid validation: nan", "a fraction below 1"});
  expect_task("init = \"ones\"", {"Invalid init", "ones", "normal or zeros"});
  expect_task("sampling = \"x\"", {"Invalid sampling", "epochs or independent"});
  expect_task("loss = \"hinge\"", {"Invalid loss", "hinge", "cross-entropy or double-softmax"});
  expect_error(kTask + "model = \"resnet18\"\nloss = \"double-softmax\"\n" + kAdam, 4,
               {"Invalid loss 'double-softmax'", "resnet18 has cross-entropy alone"});
  expect_top("measure = \"some\"", {"Invalid measure: 'some'", "best or all"});
  expect_error("prune = 2\nmeasure = \"all\"\n" + kTask + kAdam, 2,
               {"Invalid measure: all", "pruned"});
  expect_optimizer("lr = []", 5, {"Invalid lr: an empty list"});
  expect_optimizer("lr = nan", 5, {"Invalid lr: nan", "expected a number"});
  expect_optimizer("lr = -1", 3, {"lr", "-1"});
  expect_optimizer("label = \"\"", 5, {"Invalid label"});
}

/// Studies of versions that knew neither key stay the same; others differ by them.
TEST(StudyFile, LossAndMeasureArePartOfAStudyWhereTheyAreSaid) {
  const StudySpec plain = parse_study(kTask + kAdam, "s.toml");
  const std::string text = canonical_text(plain);
  EXPECT_EQ(text.find("loss"), std::string::npos);
  EXPECT_EQ(text.find("measure"), std::string::npos);
  EXPECT_EQ(canonical_text(parse_study(
                "measure = \"best\"\n" + kTask + "loss = \"cross-entropy\"\n" + kAdam, "s.toml")),
            text);
  const StudySpec other =
      parse_study("measure = \"all\"\n" + kTask + "loss = \"double-softmax\"\n" + kAdam, "s.toml");
  EXPECT_TRUE(other.measure_all);
  EXPECT_EQ(other.tasks.front().loss, problems::Loss::double_softmax);
  EXPECT_NE(canonical_text(other).find("loss=double-softmax"), std::string::npos);
  EXPECT_NE(canonical_text(other).find("\"measure\": \"all\""), std::string::npos);
}

TEST(StudyFile, NothingIsThereTwice) {
  expect_top("seeds = [1, 2, 1]", {"Invalid seeds: 1 is there twice"});
  expect_top("seeds = [1, 0]", {"0 is the tuning seed"});
  expect_top("tune_seed = 3", {"Invalid tune_seed: 3", "1 to 5"});
  expect_error("tune_seed = 3\nseeds = [1,\n3]\n" + kTask + kAdam, 3, {"3 is the tuning seed"});
  expect_error(kTask + "lambda = [1, 1.0]\n" + kAdam, 1, {"lambda=1", "there twice"});
  expect_error(kTask + kTask + kAdam, 3, {"there twice"});
  expect_optimizer("lr = [0.1, 1e-1]", 5, {"Invalid lr: 0.1 is there twice"});
  expect_error(kTask + kAdam + kAdam, 5, {"[[optimizer]] 2", "'adam' is there twice", "label"});
  expect_error(kTask + kAdam + "baseline = true\n[[optimizer]]\nname = \"sgd\"\nbaseline = true\n",
               6, {"[[optimizer]] 2", "Invalid baseline: there is one already"});
}

TEST(StudyFile, SomethingIsMissing) {
  expect_error("", 1, {"Missing [[task]]"});
  expect_error("# nothing\n", 1, {"Missing [[task]]"});
  expect_error(kAdam, 1, {"Missing [[task]]"});
  expect_error(kTask, 1, {"Missing [[optimizer]]"});
  expect_error("[[task]]\nbatch = 1\n" + kAdam, 1, {"Missing data"});
  expect_error(kTask + "[[optimizer]]\nlr = 1\n", 3, {"Missing name"});
}

TEST(StudyFile, UnknownNamesComeWithTheNearestKnownOne) {
  expect_error(kTask + "[[optimizer]]\nname = \"adan\"\n", 4, {"'adan'", "'adam'"});
  expect_error(kTask + "[[optimizer]]\nname = \"svrgg+adam\"\n", 4, {"svrgg", "'svrg'"});
  expect_optimizer("learning = 1", 3, {"'learning'", "expected one of", "lr"});
  expect_optimizer("lr = [0.1, \"fast\"]", 3, {"lr", "fast"});
  expect_task("model = \"logistik\"", {"Unknown model 'logistik'", "'logistic'"});
  expect_task("model = \"ffn:0\"", {"ffn:0", "ffn:100"});
  expect_error("[[task]]\ndata = \"mnits\"\n" + kAdam, 2, {"'mnits'", "'mnist'"});
}

TEST(StudyFile, AnOptimizersOwnDecayGoesWithoutLambdaOnly) {
  EXPECT_NO_THROW(parse(kTask + kAdam + "l2 = [0.1, 0.2]\n"));
  expect_error(kTask + "lambda = [0, 0.5]\n" + kAdam + "l2 = 0.1\n", 4, {"l2", "lambda = 0.5"});
}

TEST(StudyFile, AGridThatNoMachineHoldsIsRefusedAtOnce) {
  std::string text = kTask + "[[optimizer]]\nname = \"diag-to\"\n";
  for (const char* option : {"lr", "alpha", "beta", "decay"}) {
    text += fmt::format("{} = [", option);
    for (int i = 1; i <= 100; ++i) text += fmt::format("0.{:03}, ", i);
    text += "]\n";
  }
  expect_error(text, 3, {"Invalid grid: more than 100000 settings"});
}

class StudyFileOnDisk : public ::testing::Test {
 protected:
  static std::string message_of(const std::filesystem::path& file) {
    try {
      read_study(file);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "no error";
  }

  tests::TempFolder temp_;
  std::filesystem::path folder_ = temp_.path();
};

TEST_F(StudyFileOnDisk, IsReadAndNamedByItsFile) {
  std::ofstream(folder_ / "mine.toml") << kTask << kAdam;
  EXPECT_EQ(read_study(folder_ / "mine.toml").name, "mine");
}

TEST_F(StudyFileOnDisk, MissingFileFolderAndEmptyFile) {
  for (const auto& path : {folder_ / "absent.toml", folder_}) {
    const std::string message = message_of(path);
    EXPECT_EQ(message.rfind(path.string() + ": cannot be read, expected a study file", 0), 0U)
        << message;
  }
  std::ofstream(folder_ / "empty.toml").flush();
  EXPECT_NE(message_of(folder_ / "empty.toml").find("empty.toml:1: Missing [[task]]"),
            std::string::npos)
      << message_of(folder_ / "empty.toml");
}

TEST_F(StudyFileOnDisk, AFileWithoutTheRightToReadIt) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read every file";
  const auto path = folder_ / "secret.toml";
  std::ofstream(path) << kTask << kAdam;
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  EXPECT_NE(message_of(path).find("cannot be read"), std::string::npos);
}

}  // namespace
}  // namespace tandem::study
