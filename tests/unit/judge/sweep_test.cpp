#include "judge/sweep.hpp"

#include <gmock/gmock.h>

#include <deque>
#include <random>

#include "scene.hpp"

namespace attn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

SweepRow row(std::int64_t seq, const std::string& series = "flash") {
  Case c;
  c.name = "smooth";
  c.seq_q = c.seq_kv = seq;
  return {c, series};
}

TEST(Sweep, FindsARowBetweenTheNextSizes) {
  const auto found = sweep_neighbours({row(1023), row(1025), row(1024), row(1030)});
  EXPECT_THAT(found[2], ElementsAre(Neighbours{0, 1}));
  for (const std::size_t end : {0u, 1u, 3u}) EXPECT_THAT(found[end], IsEmpty());
}

TEST(Sweep, OtherBackendsAndOtherCasesAreNoNeighbours) {
  SweepRow causal = row(1025);
  causal.value.mask = MaskKind::causal;
  for (const SweepRow& other : {row(1025, "math"), causal}) EXPECT_THAT(sweep_neighbours({row(1023), row(1024), other})[1], IsEmpty());
}

TEST(Sweep, EverySizeMayBeSweptAndTwoAtOnce) {
  for (const auto size : {&Case::batch, &Case::heads, &Case::seq_q, &Case::seq_kv, &Case::head_dim, &Case::head_dim_v, &Case::page_size}) {
    std::vector<SweepRow> rows(3, row(64));
    for (std::size_t i = 0; i < 3; ++i) rows[i].value.*size += static_cast<std::int64_t>(i);
    EXPECT_THAT(sweep_neighbours(rows)[1], ElementsAre(Neighbours{0, 2}));
  }
  std::vector<SweepRow> grid;  // {sweep: around 16} in seq_q and in seq_kv
  for (std::int64_t q = 15; q <= 17; ++q)
    for (std::int64_t k = 15; k <= 17; ++k) {
      grid.push_back(row(q));
      grid.back().value.seq_kv = k;
    }
  EXPECT_THAT(sweep_neighbours(grid)[4], testing::UnorderedElementsAre(Neighbours{0, 8}, Neighbours{1, 7}, Neighbours{3, 5}));
}

// Three rows of one sweep, the middle of which is judged.
struct Sweep {
  explicit Sweep(double before, double middle, double after, std::size_t blocks = 3) {
    for (const double ns : {before, middle, after}) {
      rows.emplace_back();
      rows.back().now.blocks = scene::blocks_of(ns, blocks);
    }
    Scene& scene = rows[1];
    scene.no_baseline();
    scene.input.beside = {{&rows[0].now, &rows[2].now}};
    scene.input.expectations.emplace_back().smooth = 0.15;
    scene.input.expectations.back().place.line = 7;
  }
  using Scene = scene::Scene;
  Verdict verdict() const { return rows[1].verdict(); }
  bool wants_more() const { return wants_more_blocks(rows[1].input); }
  std::deque<Scene> rows;
};

// pytorch#145760: slow exactly when S is a multiple of 16.
double reported_ns(std::int64_t seq) { return 1e-3 * static_cast<double>(seq * seq) * (seq % 16 == 0 ? 1.6 : 1.0) * 1e3; }

TEST(Sweep, APeakAtMultiplesOf16IsARegressionWithoutABaseline) {
  for (const std::int64_t seq : {1008, 1024, 2048, 4096}) {
    const Verdict verdict = Sweep(reported_ns(seq - 1), reported_ns(seq), reported_ns(seq + 1)).verdict();
    EXPECT_EQ(verdict.outcome, Outcome::regressed) << seq;
    EXPECT_THAT(verdict.reason, HasSubstr("of the slower one")) << seq;
    ASSERT_FALSE(verdict.findings.empty());
    EXPECT_EQ(verdict.findings[0].line, 7);
    EXPECT_NEAR(*verdict.findings[0].ratio, 1.6, 0.02) << seq;
    EXPECT_EQ(Sweep(reported_ns(seq), reported_ns(seq + 1), reported_ns(seq + 2)).verdict().outcome, Outcome::no_baseline) << "no peak at " << seq + 1;
  }
}

TEST(Sweep, AStepAndAValleyAreSmooth) {
  EXPECT_EQ(Sweep(1e6, 2e6, 2e6).verdict().outcome, Outcome::no_baseline);
  EXPECT_EQ(Sweep(2e6, 2e6, 1e6).verdict().outcome, Outcome::no_baseline);
  EXPECT_EQ(Sweep(2e6, 1e6, 2e6).verdict().outcome, Outcome::no_baseline);
  EXPECT_EQ(Sweep(1e6, 1.13e6, 1e6).verdict().outcome, Outcome::no_baseline) << "within 15 %";
}

TEST(Sweep, ASuspicionOnFewBlocksAsksForMore) {
  for (const std::size_t blocks : {1u, 2u}) {
    const Sweep few(1e6, 1.6e6, 1e6, blocks);
    EXPECT_EQ(few.verdict().outcome, Outcome::undecided) << blocks;
    EXPECT_TRUE(few.wants_more()) << blocks;
  }
  EXPECT_FALSE(Sweep(1e6, 1.6e6, 1e6, 3).wants_more());
}

TEST(Sweep, NoiseIsNoPeak) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 0.1);
  int regressed = 0;
  for (int i = 0; i < 300; ++i) {
    Sweep sweep(1e6, 1.1e6, 1e6, 5);
    for (scene::Scene& each : sweep.rows)
      for (Block& block : each.now.blocks) *block.device_ns *= std::exp(noise(random));
    regressed += sweep.verdict().outcome == Outcome::regressed;
  }
  EXPECT_LE(regressed, 6);
}

TEST(Sweep, WhatCannotBeComparedIsSaid) {
  Sweep unsupported(1e6, 1.6e6, 1e6);
  unsupported.rows[2].now.status = Status::unsupported;
  EXPECT_THAT(unsupported.verdict().not_judged, testing::Contains(HasSubstr("smooth: c beside it is unsupported")));
  Sweep instruments(1e6, 1.6e6, 1e6);
  instruments.rows[0].now.blocks = scene::blocks_of(1e6, 3, Instrument::events);
  EXPECT_THAT(instruments.verdict().not_judged, testing::Contains(HasSubstr("two instruments")));
  Sweep blocked(1e6, 1.6e6, 1e6);
  blocked.rows[1].input.latency_blocked = "another process computes on GPU 0";
  EXPECT_EQ(blocked.verdict().outcome, Outcome::no_baseline);
}

TEST(Sweep, RowsThatAreNotAskedForSmoothnessMayPeak) {
  Sweep sweep(1e6, 1.6e6, 1e6);
  sweep.rows[1].input.expectations.clear();
  EXPECT_EQ(sweep.verdict().outcome, Outcome::no_baseline);
}

}  // namespace
}  // namespace attn
