#include "engine/row_sample.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "problem.hpp"

namespace attn {
namespace {

using testing::Contains;

TEST(RowSample, HoldsEveryRowWhenThatIsCheap) {
  const Case c = with(shaped(2, 3, 3, 5, 5, 8), [](Case& value) { value.lengths_q = {5, 2}; });
  EXPECT_EQ(sample_rows(c, {}, 0).size(), 3u * (5 + 2));
}

TEST(RowSample, OfALargeCaseHoldsTheLastRowsTheTileEdgesAndIsBounded) {
  const Case c = with(shaped(8, 32, 8, 8192, 8192, 128), [](Case& value) { value.mask = MaskKind::causal; });
  const std::vector<OutputRow> rows = sample_rows(c, {}, 0);
  EXPECT_LT(rows.size(), 8000u);
  EXPECT_GT(rows.size(), 100u);
  for (const std::int64_t row : {8191, 8190, 0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 8175, 8176, 8063, 8064, 8065, 8127, 8128, 8129})
    EXPECT_THAT(rows, Contains(OutputRow{7, 31, row}));
  EXPECT_THAT(rows, Contains(OutputRow{0, 0, 8191}));
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end(), [](const OutputRow& a, const OutputRow& b) {
    return std::tuple(a.batch, a.head, a.row) < std::tuple(b.batch, b.head, b.row);
  }));
  EXPECT_EQ(std::adjacent_find(rows.begin(), rows.end()), rows.end());
  EXPECT_EQ(rows, sample_rows(c, {}, 0));
  EXPECT_NE(rows, sample_rows(c, {}, 1));
}

TEST(RowSample, CoversManyPairsWhenRowsAreFew) {
  const std::vector<OutputRow> rows = sample_rows(shaped(65536, 8, 8, 4, 4, 64), {}, 0);
  EXPECT_LE(rows.size(), 70000u);
  EXPECT_GT(rows.size(), 30000u);
  EXPECT_THAT(rows, Contains(OutputRow{65535, 7, 3}));
  const auto high = std::count_if(rows.begin(), rows.end(), [](const OutputRow& row) { return row.batch > 60000; });
  EXPECT_GT(high, 1000);
}

TEST(RowSample, SkipsBatchEntriesWithoutRowsAndEndsAtTheLengths) {
  const Case c = with(shaped(4, 16, 16, 4096, 4096, 128), [](Case& value) {
    value.lengths_q = {0, 1000, 4096, 0};
    value.lengths_kv = {10, 700, 4096, 10};
    value.alignment = Alignment::top_left;
    value.mask = MaskKind::causal;
  });
  const std::vector<OutputRow> rows = sample_rows(c, {}, 0, {.flops = 1e9});
  for (const OutputRow& row : rows) ASSERT_LT(row.row, rows_of(c, row.batch));
  EXPECT_THAT(rows, Contains(OutputRow{2, 15, 4095}));
  EXPECT_THAT(rows, Contains(OutputRow{1, 0, 999}));
  EXPECT_THAT(rows, Contains(OutputRow{1, 0, 700}));
}

TEST(RowSample, HoldsTheFirstAndTheLastDeadRowOfTheMaskTensor) {
  Problem p(with(shaped(1, 2, 2, 2048, 2048, 64), [](Case& c) {
    c.mask = MaskKind::tensor;
    c.mask_tensor.pattern = MaskPattern::rows_dead;
  }));
  std::fill_n(static_cast<std::uint8_t*>(p.operands.mask.data), 2048 * 2048, std::uint8_t{1});
  for (const std::int64_t row : {703, 1309}) std::fill_n(static_cast<std::uint8_t*>(p.operands.mask.data) + row * 2048, 2048, std::uint8_t{0});
  const std::vector<OutputRow> rows = sample_rows(p.c, p.operands.mask, 0, {.flops = 1e7});
  ASSERT_LT(rows.size(), 500u);
  for (const std::int64_t row : {702, 703, 704, 1308, 1309, 1310}) EXPECT_THAT(rows, Contains(OutputRow{0, 0, row}));
}

TEST(RowSample, HoldsDeadRowsOfTheMaskTensor) {
  Problem p(with(shaped(1, 2, 2, 2048, 2048, 64), [](Case& c) {
    c.mask = MaskKind::tensor;
    c.mask_tensor.pattern = MaskPattern::rows_dead;
  }));
  const std::vector<OutputRow> rows = sample_rows(p.c, p.operands.mask, 0, {.flops = 1e7});
  ASSERT_LT(rows.size(), 500u);
  const auto dead = std::count_if(rows.begin(), rows.end(), [&](const OutputRow& row) { return is_dead(p.right(), p.operands.mask, row); });
  EXPECT_GE(dead, 4);
  EXPECT_THAT(rows, Contains(OutputRow{0, 1, 2047}));
}

}  // namespace
}  // namespace attn
