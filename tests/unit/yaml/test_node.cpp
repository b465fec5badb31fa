#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>

#include "yaml/node.hpp"

namespace attn {
namespace {

using testing::HasSubstr;

Error error_of(std::string_view text, const YamlLimits& limits = {}) {
  try {
    parse_yaml(text, "s.yaml", limits);
  } catch (const Error& error) {
    return error;
  }
  return Error("no error");
}

struct Bad {
  const char* text;
  const char* message;
};

class BadYaml : public testing::TestWithParam<Bad> {};

TEST_P(BadYaml, IsRefusedWithItsPlace) { EXPECT_STREQ(error_of(GetParam().text).what(), GetParam().message); }

INSTANTIATE_TEST_SUITE_P(
    All, BadYaml,
    testing::Values(Bad{"", "s.yaml: is empty"}, Bad{"# only a comment\n", "s.yaml: is empty"},
                    Bad{"a: 1\n---\nb: 2\n", "s.yaml:2:1: a second document (or text that belongs to nothing) starts here; a file holds one document"},
                    Bad{"a: &x 1\n", "s.yaml:1:4: anchors (&name) are not allowed; write the value out"},
                    Bad{"a: &x [1]\n", "s.yaml:1:4: anchors (&name) are not allowed; write the value out"},
                    Bad{"a: &x\n", "s.yaml:1:4: anchors (&name) are not allowed; write the value out"},
                    Bad{"a: 1\nb:\n  <<: {c: 1}\n", "s.yaml:3:3: merge keys (<<) are not allowed; write the values out"},
                    Bad{"a: !!str 4\n", "s.yaml:1:4: tags are not allowed (found \"tag:yaml.org,2002:str\"); quote what shall be text"},
                    Bad{"a: !mine {b: 1}\n", "s.yaml:1:4: tags are not allowed (found \"!mine\"); quote what shall be text"},
                    Bad{"a: 1\nb: 2\na: 3\n", "s.yaml:3:1: duplicate key \"a\"; it stands first at line 1"},
                    Bad{"x: {a: 1, \"a\": 2}\n", "s.yaml:1:11: duplicate key \"a\"; it stands first at line 1"},
                    Bad{"? [1, 2]\n: 3\n", "s.yaml:1:3: found a list as a key; a key is a word"},
                    Bad{"? {}\n: 3\n", "s.yaml:1:3: found a map as a key; a key is a word"},
                    Bad{"~: 3\n", "s.yaml:1:1: found nothing as a key; a key is a word"},
                    Bad{"a: 1\n\tb: 2\n", "s.yaml:2:1: a tab in the indentation; YAML wants spaces"},
                    Bad{"a: 1\rb: 2\r", "s.yaml:1:5: a carriage return without a line feed; lines end in LF or CR LF"},
                    Bad{"a: 1\nb: \xff\n", "s.yaml:2:4: byte 0xff is not UTF-8; YAML is read as UTF-8"},
                    Bad{"a: \xc0\xaf\n", "s.yaml:1:4: byte 0xc0 is not UTF-8; YAML is read as UTF-8"},
                    Bad{"a: \xed\xa0\x80\n", "s.yaml:1:4: byte 0xed is not UTF-8; YAML is read as UTF-8"},
                    Bad{"a: \xe2\x82", "s.yaml:1:4: byte 0xe2 is not UTF-8; YAML is read as UTF-8"},
                    Bad{"a: \x1b[31m\n", "s.yaml:1:4: control character 0x1b; YAML is text"},
                    Bad{"a: [1, 2\n", "s.yaml:2:1: not YAML: end of sequence flow not found"},
                    Bad{"a: b: c\n", "s.yaml:1:5: not YAML: illegal map value"}));

TEST(Yaml, RefusesAliasesAtTheirPlace) {
  // The anchor comes first in a file, so an alias is only met without one when it is undefined.
  EXPECT_THAT(error_of("a: *x\n").what(), HasSubstr("s.yaml:1:4: "));
}

TEST(Yaml, RefusesNulBytes) {
  EXPECT_STREQ(error_of(std::string_view("a: 1\n\0b: 2\n", 11)).what(), "s.yaml:2:1: control character 0x00 (NUL); YAML is text");
}

TEST(Yaml, KeepsPlacesTextAndQuotes) {
  const Node root = parse_yaml("version: 1\ncases:\n  - {name: \"4\", batch: [010, on]}\n  - name: 'x'\n", "s.yaml");
  ASSERT_EQ(root.kind, NodeKind::map);
  ASSERT_EQ(root.entries.size(), 2u);
  EXPECT_EQ(root.entries[1].key, "cases");
  EXPECT_EQ(root.entries[1].place, (Place{"s.yaml", 2, 1}));
  const Node& first = root.find("cases")->items.at(0);
  EXPECT_EQ(first.place, (Place{"s.yaml", 3, 5}));
  EXPECT_TRUE(first.find("name")->quoted);
  EXPECT_EQ(first.find("name")->text, "4");
  const Node& batch = *first.find("batch");
  EXPECT_EQ(batch.items.at(0).text, "010");
  EXPECT_EQ(batch.items.at(1).text, "on");
  EXPECT_EQ(batch.items.at(1).name, "batch");
  EXPECT_EQ(batch.items.at(1).place, (Place{"s.yaml", 3, 30}));
  EXPECT_FALSE(batch.items.at(1).quoted);
  EXPECT_EQ(root.find("absent"), nullptr);
}

TEST(Yaml, GivesAMissingValueThePlaceOfItsKey) {
  const Node root = parse_yaml("a:\nb: 2\n", "s.yaml");
  EXPECT_EQ(root.find("a")->kind, NodeKind::nothing);
  EXPECT_EQ(root.find("a")->place, (Place{"s.yaml", 1, 1}));
}

TEST(Yaml, AcceptsAByteOrderMarkCrLfAndUtf8) {
  const Node root = parse_yaml("\xef\xbb\xbf" "a: 1\r\nb: \"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"\r\n", "s.yaml");
  EXPECT_EQ(root.find("a")->text, "1");
  EXPECT_EQ(root.find("b")->text, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

TEST(Yaml, LimitsSizeDepthAndNumberOfValues) {
  EXPECT_STREQ(error_of("a: 123456789\n", {.bytes = 8}).what(), "s.yaml: is larger than 8 bytes");
  EXPECT_STREQ(error_of("[[[1]]]", {.depth = 2}).what(), "s.yaml:1:3: nested deeper than 2 levels");
  EXPECT_EQ(parse_yaml("[[1]]", "s.yaml", {.depth = 2}).items.size(), 1u);
  EXPECT_STREQ(error_of("[1, 2, 3]", {.nodes = 3}).what(), "s.yaml:1:8: more than 3 values");
  EXPECT_EQ(parse_yaml("[1, 2]", "s.yaml", {.nodes = 3}).items.size(), 2u);
}

// A megabyte of each is refused, or read, in well under the test's time limit.
TEST(Yaml, SurvivesAMegabyteOfAnyToken) {
  for (const char* token : {"[", "{", "]", "- ", "? ", ": ", "a: ", "a: b\n", "&a ", "*a ", "! ", "|\n", "\"", "'", "#", "%", "---\n", "{a: ", "[a, ", "a,", "<<: ", "- - ", "\n", "  "}) {
    std::string text;
    while (text.size() + std::char_traits<char>::length(token) <= (1u << 20)) text += token;
    try {
      parse_yaml(text, "s.yaml");
    } catch (const Error& error) {
      EXPECT_EQ(error.place().file, "s.yaml") << token;
    }
  }
}

TEST(ReadYaml, ReadsAFileAndSaysWhyItCannot) {
  const std::string path = testing::TempDir() + "attn_read_yaml.yaml";
  std::ofstream(path) << "a: 1\nb: [2]\n";
  EXPECT_EQ(read_yaml(path).find("b")->items.at(0).place, (Place{path, 2, 5}));
  std::remove(path.c_str());
  const auto message = [](const std::string& name) {
    try {
      read_yaml(name);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message(path), path + ": cannot be read: No such file or directory");
  EXPECT_EQ(message("/"), "/: cannot be read: Is a directory");
}

TEST(ReadYaml, StopsAtTheLimitOfAnEndlessFile) { EXPECT_THROW(read_yaml("/dev/zero"), Error); }

}  // namespace
}  // namespace attn
