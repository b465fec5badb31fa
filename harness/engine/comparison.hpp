#pragma once
// Found rows against an evaluation, within the budget that the naive evaluation of the same rows sets.

#include <cstdint>
#include <vector>

#include "engine/reference.hpp"

namespace attn {

// What may be lost where a step's result below float's smallest normal number is flushed to zero, which compilers and cards may do, and then multiplied by
// others: by up to 2^20. Conversions to 16 and 8 bit keep their subnormal numbers.
inline constexpr double kFlushed = 0x1p-106;

struct Comparison {
  bool right = true;                       // every row within its budget, and the mean within its own
  std::vector<bool> off;                   // per row: beyond its budget
  std::vector<double> budgets;             // per row
  double max_error = 0, max_error_budget = 0;  // the largest error and the budget of its row
  double mean_error = 0, mean_budget = 0;  // over all elements but those of buried rows
  double rel_error = 0;                    // ||found - expected|| / ||expected||
  std::size_t worst_row = 0;               // where error / budget is largest
  std::int64_t worst_column = 0;
  double worst_budget = 0;
};

// `found`: (rows, columns) as in `expected`. `dtype`: an attn_dtype, the output's. The rows' budgets are described with check_output.
Comparison compare(const std::vector<double>& found, const Evaluation& expected, const Evaluation& naive, std::int32_t dtype);

// Whether the log sum of a row's exponentials says that a mask's finite fill hides all of its keys. Rounded to the dtype such scores lose much of what tells
// them apart, in fp16 all of it: the naive evaluation of the row has no more to do with the others' than the row itself.
bool is_buried(double lse, std::int32_t dtype);

// Distance from |value| to the next larger number of the dtype.
double ulp(double value, std::int32_t dtype);

}  // namespace attn
