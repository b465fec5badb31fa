// A deterministic fuzzer as an ordinary test: fuzz_suite [INPUTS [SEED]] FILE... mutates the files and reads what comes out.
// Exit code 1, with the input written to fuzz-broken.yaml, when a promise of read_anything.hpp is broken or one input takes longer than kSlowest.

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

#include "mutate.hpp"
#include "read_anything.hpp"

namespace {

using Clock = std::chrono::steady_clock;
constexpr double kSlowest = 2.0;    // seconds
constexpr unsigned kHang = 60;      // seconds, then SIGALRM ends the test

void keep(const std::string& text) { std::ofstream("fuzz-broken.yaml", std::ios::binary) << text; }

int fuzz(std::size_t inputs, std::uint64_t seed, const std::vector<std::string>& seeds) {
  for (const std::string& text : seeds)
    if (!attn::read_anything(text)) return std::cerr << "a seed is no suite\n", 1;
  attn::Mutator mutator(seeds, seed);
  std::size_t accepted = 0;
  double slowest = 0;
  for (std::size_t i = 0; i < inputs; ++i) {
    const std::string text = mutator.next();
    const auto start = Clock::now();
    alarm(kHang);
    try {
      accepted += attn::read_anything(text);
    } catch (const std::exception& error) {
      keep(text);
      std::cerr << "input " << i << " of seed " << seed << ": " << error.what() << "\n";
      return 1;
    }
    alarm(0);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (seconds > slowest) slowest = seconds;
    if (seconds > kSlowest) {
      keep(text);
      std::cerr << "input " << i << " of seed " << seed << " took " << seconds << " s\n";
      return 1;
    }
  }
  std::cout << inputs << " inputs, " << accepted << " accepted, slowest " << slowest * 1e3 << " ms\n";
  // Were all refused, or none, nothing behind the first check would have been reached.
  return accepted > inputs / 50 && accepted < inputs - inputs / 50 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t numbers[] = {3000, 1};
  int next = 1;
  for (std::size_t& number : numbers)
    if (next < argc && std::strspn(argv[next], "0123456789") == std::strlen(argv[next])) number = std::strtoull(argv[next++], nullptr, 10);
  std::vector<std::string> seeds;
  for (; next < argc; ++next) {
    std::stringstream text;
    text << std::ifstream(argv[next]).rdbuf();
    seeds.push_back(text.str());
  }
  if (seeds.empty() || numbers[1] == 0) return std::cerr << "usage: fuzz_suite [INPUTS [SEED]] FILE...\n", 4;
  return fuzz(numbers[0], numbers[1], seeds);
}
