// SPDX-License-Identifier: MIT
// Instructions with responses: what is read, what becomes of it, what is refused.
#include "data/alpaca.h"

#include <gtest/gtest.h>

#include <string>

#include "data/recipe.h"
#include "data/test_files.h"
#include "tests/temp_folder.h"

namespace tandem::data {
namespace {

Instructions read(const std::string& json, std::size_t most = 0) {
  MemorySource source("a.json", json);
  return read_alpaca(source, most);
}

std::string item(const std::string& fields) { return "[{" + fields + "}]"; }

const std::string kGood = R"("instruction":"Do","output":"Done")";

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(Alpaca, ReadsItems) {
  const Instructions read_items =
      read(R"([ {"instruction": "Add\n", "input": "1 \u00e9", "output": "2 \"é\""},
                {"output": "x", "instruction": ""} ]  )");
  ASSERT_EQ(read_items.items.size(), 2U);
  EXPECT_EQ(read_items.items[0].instruction, "Add\n");
  EXPECT_EQ(read_items.items[0].input, "1 é");
  EXPECT_EQ(read_items.items[0].output, "2 \"é\"");
  EXPECT_EQ(read_items.items[1].instruction, "");
  EXPECT_EQ(read_items.items[1].input, "");
  EXPECT_EQ(read_items.empty, 0U);
}

TEST(Alpaca, PassesOtherKeysOver) {
  const std::string others =
      R"("id":7,"x":-1,"tags":["a",{"output":[null,true]}],"score":1.5,"text":"output",)";
  EXPECT_EQ(read(item(others + kGood)).items[0].output, "Done");
  EXPECT_EQ(read(item(kGood + R"(,"instructions":{"instruction":2})")).items[0].instruction, "Do");
}

TEST(Alpaca, LeavesItemsWithoutOutputOut) {
  const std::string empty = R"({"instruction":"a","output":" \n"},)";
  const Instructions items = read("[" + empty + empty + "{" + kGood + "}]");
  EXPECT_EQ(items.items.size(), 1U);
  EXPECT_EQ(items.empty, 2U);
}

TEST(Alpaca, KeepsTheFirstItemsAndChecksAll) {
  const std::string three =
      R"({"instruction":"1","output":"a"},{"instruction":"2","output":"b"},{)" + kGood + "}";
  EXPECT_EQ(read("[" + three + "]", 2).items.size(), 2U);
  EXPECT_EQ(read("[" + three + "]", 2).items[1].output, "b");
  EXPECT_EQ(read("[" + three + "]", 9).items.size(), 3U);
  expect_damage([&] { read("[" + three + ",{}]", 2); }, {"item 4", "no key 'instruction'"});
}

TEST(Alpaca, ReadsAcrossTheBuffersOfTheStream) {
  std::string json = "[";
  for (int i = 0; i < 300; ++i) {
    json += (i > 0 ? "," : "") + std::string(R"({"instruction":")") + std::to_string(i) +
            R"(","output":")" + std::string(static_cast<std::size_t>(7 * i), 'x') + R"(é"})";
  }
  const Instructions items = read(json + "]");
  ASSERT_EQ(items.items.size(), 300U);
  for (std::size_t i = 0; i < 300; ++i) {
    EXPECT_EQ(items.items[i].instruction, std::to_string(i));
    EXPECT_EQ(items.items[i].output.size(), 7 * i + 2);
  }
}

void expect_refused(const std::string& json, std::vector<std::string> parts) {
  parts.emplace_back("a.json");
  SCOPED_TRACE(::testing::PrintToString(json.substr(0, 200)));
  expect_damage([&] { read(json); }, parts);
}

TEST(Alpaca, RefusesItemsOfAnotherForm) {
  expect_refused("{}", {"an object", "an array of items"});
  expect_refused("7", {"the number 7", "an array of items"});
  expect_refused("\"x\"", {"the text 'x'", "an array of items"});
  expect_refused("[]", {"no items"});
  expect_refused(R"([{"instruction":"a","output":""}])",
                 {"no items with an output, and 1 without"});
  expect_refused("[7]", {"item 1", "the number 7", "an object with the keys"});
  expect_refused("[{" + kGood + "},[]]", {"item 2", "an array", "an object with the keys"});
  expect_refused(item(R"("output":"b")"), {"item 1", "no key 'instruction'"});
  expect_refused(item(R"("instruction":"b")"), {"item 1", "no key 'output'"});
  expect_refused("[{" + kGood + "},{}]", {"item 2", "no key 'instruction'"});
  expect_refused(item(R"("instruction":1,"output":"b")"),
                 {"item 1, key 'instruction'", "the number 1", "a text"});
  expect_refused(item(kGood + R"(,"input":null)"), {"key 'input'", "null", "a text"});
  expect_refused(item(R"("output":["b"])"), {"key 'output'", "an array"});
  expect_refused(item(R"("output":{})"), {"key 'output'", "an object"});
  expect_refused(item(R"("output":-0.5)"), {"key 'output'", "the number -0.5"});
  expect_refused(item(R"("output":true)"), {"key 'output'", "true"});
  expect_refused(item(R"("output":"a","output":"b")"), {"key 'output'", "twice", "each key once"});
}

TEST(Alpaca, RefusesWhatIsNotJson) {
  const std::string end = "byte " + std::to_string(item(kGood).size());
  expect_refused("", {"byte 0", "not JSON", "unexpected end of input"});
  expect_refused("[", {"byte 1", "not JSON"});
  expect_refused("[{\"instruction\":\"a", {"byte 18", "item 1", "not JSON"});
  expect_refused(item(kGood) + "x", {end, "not JSON", "JSON in UTF-8"});
  expect_refused(item(kGood) + item(kGood), {end, "not JSON"});
  expect_refused("[{" + kGood + "},]", {end, "not JSON"});
  expect_refused(item("\"instruction\":\"\xff\""), {"byte 17", "item 1", "UTF-8"});
  expect_refused(item("\"instruction\":\"a\n\""), {"byte 18", "control character"});
  expect_refused(item(kGood) + std::string(1, '\0'), {end, "a zero byte"});
  expect_refused("[1e999]", {"not JSON", "1e999"});
}

TEST(Alpaca, RefusesNestingAndTextsWithoutEnd) {
  expect_refused(repeated("[", 100'000), {"item 1", "an array"});
  expect_refused("[{\"x\":" + repeated("[", 100'000), {"item 1", "more than 64 deep"});
  expect_refused("[{\"x\":" + repeated("{\"a\":", 100'000), {"item 1", "more than 64 deep"});
  EXPECT_EQ(read(item("\"x\":" + repeated("[", 64) + repeated("]", 64) + "," + kGood)).items.size(),
            1U);
  const std::string long_text(17 << 20, 'x');
  expect_refused(item("\"instruction\":\"" + long_text + "\""),
                 {"byte 15", "more than 16777216 bytes in one piece"});
}

TEST(Alpaca, WritesThePrompts) {
  const Instruction with{.instruction = "Add.", .input = "1 2", .output = "3"};
  const Instruction without{.instruction = "Say hi.", .input = "", .output = "hi"};
  EXPECT_EQ(make_text(with, PromptTemplate::alpaca).prompt,
            "Below is an instruction that describes a task, paired with an input that provides "
            "further context. Write a response that appropriately completes the request.\n\n"
            "### Instruction:\nAdd.\n\n### Input:\n1 2\n\n### Response:");
  EXPECT_EQ(make_text(without, PromptTemplate::alpaca).prompt,
            "Below is an instruction that describes a task. Write a response that appropriately "
            "completes the request.\n\n### Instruction:\nSay hi.\n\n### Response:");
  EXPECT_EQ(make_text(with, PromptTemplate::plain).prompt, "Add.\n1 2\n");
  EXPECT_EQ(make_text(without, PromptTemplate::plain).prompt, "Say hi.\n");
  EXPECT_EQ(make_text(with, PromptTemplate::plain).response, "3");
}

// ---- The recipe ---------------------------------------------------------------------------------

Task load(const tests::TempFolder& folder, const std::string& spec, double validation = 0) {
  return load_task(spec,
                   {.search = {folder.path()}, .validation = validation, .seed = 3, .options = {}});
}

TEST(AlpacaRecipe, LoadsTexts) {
  const tests::TempFolder folder;
  std::string items = R"({"instruction":"none","output":""})";
  for (char c = 'a'; c < 'k'; ++c) {
    items += std::string(R"(,{"instruction":")") + c + R"(","output":")" + c + R"("})";
  }
  folder.write("alpaca/alpaca_data.json.gz", gzip("[" + items + "]"));
  const Task task = load(folder, "alpaca");
  EXPECT_EQ(task.train.rows, 10U);
  EXPECT_EQ(task.train.texts.size(), 10U);
  EXPECT_EQ(task.train.features, 0U);
  EXPECT_EQ(task.train.classes, 0U);
  EXPECT_EQ(task.train.name, "alpaca");
  EXPECT_TRUE(task.train.texts[0].prompt.ends_with("### Instruction:\na\n\n### Response:"));
  EXPECT_EQ(task.train.texts[9].response, "j");
  EXPECT_FALSE(task.validation.has_value());
  EXPECT_NE(task.notes[1].find("1 items of the file have an empty output"), std::string::npos);

  const Task part = load(folder, "alpaca:items=4,template=plain", 0.25);
  EXPECT_EQ(part.train.rows, 3U);
  EXPECT_EQ(part.validation->rows, 1U);
  EXPECT_EQ(part.validation->texts[0].prompt, part.validation->texts[0].response + "\n");
  EXPECT_EQ(load(folder, "alpaca:items=4,template=plain", 0.25).train.fingerprint(),
            part.train.fingerprint());

  const std::string other = folder.write("mine.json", item(kGood)).string();
  EXPECT_EQ(load(folder, "alpaca:file=mine.json").train.rows, 1U);
  EXPECT_EQ(load(folder, "alpaca:file=" + other).train.texts[0].response, "Done");
  expect_error<std::invalid_argument>([&] { load(folder, "alpaca:template=vicuna"); },
                                      {"template = 'vicuna'", "alpaca, plain"});
  expect_error<std::invalid_argument>([&] { load(folder, "alpaca:items=x"); }, {"items = 'x'"});
  folder.write("bad.json.gz", gzip(item(kGood)).substr(0, 30));
  expect_damage([&] { load(folder, "alpaca:file=bad.json"); }, {"bad.json.gz", "compressed"});
}

}  // namespace
}  // namespace tandem::data
