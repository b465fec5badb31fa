#pragma once
// What an unfused backend may lose: the right rows, and how far an eager framework's rows are from them.

#include <cstdint>
#include <vector>

#include "problem.hpp"
#include "reference.hpp"

namespace attn::test {

struct OutputPlace {
  std::int64_t b, h, i;
};

struct Expected {
  std::vector<OutputPlace> places;
  std::vector<Row> rows;
  double output_error = 0, lse_error = 0;  // of an eager evaluation, the worst: of the outputs relative to the row's largest value
};

// Every row, or about `sample` of them.
Expected expect(const Problem& problem, std::int64_t sample = 0);

// Fails the test when the problem's outputs are further off than twice what an eager evaluation loses. `fp32_inside`: only the last rounding may show.
void expect_right(const Problem& problem, const Expected& expected, bool fp32_inside);

}  // namespace attn::test
