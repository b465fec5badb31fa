// What golden tests need beside the program: `golden_tool table RUN.json [COLUMNS]` prints the terminal report of a run, `golden_tool records FILE` reads
// records and prints them again. Errors go to standard error, exit code 4.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "core/records.hpp"
#include "report/json.hpp"
#include "report/table.hpp"

namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw attn::Error("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

void print_table(const std::string& path, std::size_t columns) {
  const attn::RunResult run = attn::read_run_json(attn::parse_json(read_file(path), path), path);
  std::fputs(attn::table(run, {columns, false, "history.db"}).c_str(), stdout);
}

void print_records(const std::string& path) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    try {
      const std::string text = std::visit([](const auto& record) { return attn::record_line(record); }, attn::parse_record(line));
      std::puts(text.c_str());
    } catch (const attn::Error& error) {
      std::printf("refused: %s\n", error.what());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "table" && argc >= 3) print_table(argv[2], argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 0);
    else if (what == "records" && argc == 3) print_records(argv[2]);
    else throw attn::Error("usage: golden_tool table RUN.json [COLUMNS] | golden_tool records FILE");
    return 0;
  } catch (const attn::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 4;
  }
}
