// Small inputs with exactly known answers: each wrong answer has a name.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "plugin.hpp"
#include "problem.hpp"

namespace attn::test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::NanSensitiveDoubleNear;
using testing::Pointwise;

struct Backend {
  const char* file;
  const char* name;
};

class Probe : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    backend_ = find_backend(GetParam().file, GetParam().name);
    if (!backend_) GTEST_SKIP() << "lib" << GetParam().file << ".so was not built";
  }
  // Output column 0 of every row of head h, batch entry 0.
  std::vector<double> answer(Problem& problem, std::int64_t h = 0) {
    Session session(*backend_, problem);
    session.run();
    std::vector<double> rows;
    for (std::int64_t i = 0; i < problem.spec().seq_q; ++i) rows.push_back(problem.o->get({0, h, i, 0}));
    return rows;
  }
  // Q = 0, V[j] = j: a row is the mean of its visible key indices.
  std::vector<double> visibility(Spec spec) {
    spec.heads = 1;
    Problem problem(spec);
    problem.fill_q([](auto...) { return 0.0; });
    problem.fill_v([](auto, auto, std::int64_t j, auto) { return static_cast<double>(j); });
    return answer(problem);
  }
  static auto near(double value) { return DoubleNear(value, 2e-6); }
  static auto all_near(const std::vector<double>& values) { return Pointwise(NanSensitiveDoubleNear(2e-6), values); }

 private:
  const attn_backend* backend_ = nullptr;
};

constexpr double kDead = std::numeric_limits<double>::quiet_NaN();

Spec causal(std::int64_t seq_q, std::int64_t seq_kv, std::int32_t alignment) {
  return {.seq_q = seq_q, .seq_kv = seq_kv, .mask = Mask::causal, .alignment = alignment, .dead_rows = ATTN_DEAD_NAN};
}

TEST_P(Probe, P1VisibilityShowsTheAlignment) {
  EXPECT_THAT(visibility(causal(2, 4, ATTN_TOP_LEFT)), all_near({0, 0.5}));
  EXPECT_THAT(visibility(causal(2, 4, ATTN_BOTTOM_RIGHT)), all_near({1, 1.5}));
  EXPECT_THAT(visibility(causal(4, 2, ATTN_TOP_LEFT)), all_near({0, 0.5, 0.5, 0.5}));
  EXPECT_THAT(visibility(causal(4, 2, ATTN_BOTTOM_RIGHT)), all_near({kDead, kDead, 0, 0.5}));
  EXPECT_THAT(visibility(causal(1, 4, ATTN_TOP_LEFT)), all_near({0}));
  EXPECT_THAT(visibility(causal(1, 4, ATTN_BOTTOM_RIGHT)), all_near({1.5}));
}

TEST_P(Probe, P2WindowCountsTokensBesidesTheOwn) {
  const auto window = [&](std::int64_t left) {
    return visibility({.seq_q = 6, .seq_kv = 6, .mask = Mask::causal, .window_left = left});
  };
  EXPECT_THAT(window(2), all_near({0, 0.5, 1, 2, 3, 4}));
  EXPECT_THAT(window(0), all_near({0, 1, 2, 3, 4, 5}));
  EXPECT_THAT(window(6), all_near({0, 0.5, 1, 1.5, 2, 2.5}));
  EXPECT_THAT(window(-1), all_near({0, 0.5, 1, 1.5, 2, 2.5}));
}

TEST_P(Probe, P3ScaleIsTheOneGiven) {
  const auto scaled = [&](std::optional<double> scale) {
    Problem problem({.heads = 1, .seq_q = 1, .seq_kv = 2, .head_dim = 4, .scale = scale});
    problem.fill_q([](auto, auto, auto, std::int64_t d) { return d == 0 ? 1.0 : 0.0; });
    problem.fill_k([](auto, auto, std::int64_t j, std::int64_t d) { return d == 0 && j == 1 ? std::log(2.0) : 0.0; });
    problem.fill_v([](auto, auto, std::int64_t j, auto) { return j == 1 ? 3.0 : 0.0; });
    return answer(problem);
  };
  EXPECT_THAT(scaled(1.0), ElementsAre(near(2.0)));
  EXPECT_THAT(scaled(2.0), ElementsAre(near(2.4)));
  EXPECT_THAT(scaled(std::nullopt), ElementsAre(near(3 * std::sqrt(2.0) / (1 + std::sqrt(2.0)))));
  EXPECT_THAT(scaled(0.0), ElementsAre(near(1.5)));
  EXPECT_THAT(scaled(-1.0), ElementsAre(near(1.0)));
}

TEST_P(Probe, P4SoftcapIsApplied) {
  Problem problem({.heads = 1, .seq_q = 1, .seq_kv = 2, .head_dim = 4, .softcap = 2.0, .scale = 1.0});
  problem.fill_q([](auto, auto, auto, std::int64_t d) { return d == 0 ? 1.0 : 0.0; });
  problem.fill_k([](auto, auto, std::int64_t j, std::int64_t d) { return d == 0 && j == 1 ? 10.0 : 0.0; });
  problem.fill_v([](auto, auto, std::int64_t j, auto) { return static_cast<double>(j); });
  EXPECT_THAT(answer(problem), ElementsAre(near(0.880778)));
}

TEST_P(Probe, P5HeadsAreGroupedByDivision) {
  Problem problem({.heads = 6, .heads_kv = 2, .seq_q = 1, .seq_kv = 3});
  problem.fill_q([](auto...) { return 0.0; });
  problem.fill_v([](auto, std::int64_t g, auto, auto) { return static_cast<double>(g); });
  std::vector<double> heads;
  for (std::int64_t h = 0; h < 6; ++h) heads.push_back(answer(problem, h)[0]);
  EXPECT_THAT(heads, ElementsAre(0, 0, 0, 1, 1, 1));
}

TEST_P(Probe, P6AlibiTakesEachHeadsSlope) {
  Problem problem({.heads = 2, .seq_q = 1, .seq_kv = 4, .alignment = ATTN_BOTTOM_RIGHT, .slopes = {0.5f, 0.25f}});
  problem.fill_q([](auto...) { return 0.0; });
  problem.fill_v([](auto, auto, std::int64_t j, auto) { return static_cast<double>(j); });
  EXPECT_THAT(answer(problem, 0), ElementsAre(DoubleNear(2.08458, 1e-5)));
  EXPECT_THAT(answer(problem, 1), ElementsAre(DoubleNear(1.80710, 1e-5)));
}

TEST_P(Probe, P7DeadRowsAreWhatTheCaseDeclares) {
  for (const auto& [policy, value] : {std::pair{ATTN_DEAD_ZERO, 0.0}, {ATTN_DEAD_NAN, kDead}, {ATTN_DEAD_MEAN, 4.5}})
    EXPECT_THAT(visibility({.seq_q = 3, .seq_kv = 10, .mask = Mask::boolean, .pattern = Pattern::last_row_dead, .dead_rows = policy}),
                all_near({4.5, 4.5, value}));
}

TEST_P(Probe, AnOmittedScaleIsNotZero) {
  // SKaiNET-developers/SKaiNET#860: "0 means default" taken literally gave uniform weights, rows (1,2) (2,3) (3,4).
  Problem problem({.heads = 1, .seq_q = 3, .seq_kv = 3, .head_dim = 2, .mask = Mask::causal});
  problem.fill_q([](auto, auto, std::int64_t i, std::int64_t d) { return 0.1 * static_cast<double>(2 * i + d + 1); });
  problem.fill_k([](auto, auto, std::int64_t i, std::int64_t d) { return 0.1 * static_cast<double>(2 * i + d + 7); });
  problem.fill_v([](auto, auto, std::int64_t i, std::int64_t d) { return static_cast<double>(2 * i + d + 1); });
  const std::vector<double> rows = answer(problem);
  EXPECT_THAT(rows, ElementsAre(near(1.0), DoubleNear(2.049, 5e-4), DoubleNear(3.207, 5e-4)));
  EXPECT_NEAR(problem.o->get({0, 0, 2, 1}), 4.207, 5e-4);
}

INSTANTIATE_TEST_SUITE_P(Cpu, Probe,
                         testing::Values(Backend{"chain", "naive"}, Backend{"chain", "naive_inplace"}, Backend{"chain", "math"}, Backend{"flash", "flash"}),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

}  // namespace
}  // namespace attn::test
