// Gradients and dropout of the CPU backends against their definition, one row at a time in double precision.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "plugin.hpp"
#include "reference.hpp"

namespace attn::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Training {
  double dropout = 0;
  std::uint64_t seed = 7;
  std::int32_t pass = ATTN_FORWARD_BACKWARD;
  bool dout_transposed = false, dout_expanded = false;
};

// A problem with a gradient of its output, and a backend opened on it.
class Trained {
 public:
  Trained(const attn_backend& backend, const Spec& spec, const Training& training = {}, int threads = 2) : p(spec), backend_(backend) {
    const Spec& s = p.spec();
    const auto dense = [](std::int64_t batch, std::int64_t heads, std::int64_t rows, std::int64_t columns, std::int32_t dtype) {
      return std::make_unique<Tensor>(std::vector{batch, heads, rows, columns}, std::vector{heads * rows * columns, rows * columns, columns, std::int64_t{1}}, dtype);
    };
    const std::int32_t dtype_kv = s.dtype_kv.value_or(s.dtype);
    const std::int64_t rows = s.seq_q, columns = s.head_dim_v;
    dout = training.dout_transposed
               ? std::make_unique<Tensor>(std::vector{s.batch, s.heads, rows, columns}, std::vector{s.heads * rows * columns, rows * columns, std::int64_t{1}, rows}, s.dtype)
           : training.dout_expanded
               ? std::make_unique<Tensor>(std::vector{s.batch, s.heads, rows, columns}, std::vector{rows * columns, std::int64_t{0}, columns, std::int64_t{1}}, s.dtype)
               : dense(s.batch, s.heads, rows, columns, s.dtype);
    dq = dense(s.batch, s.heads, s.seq_q, s.head_dim, s.dtype);
    dk = dense(s.batch, s.heads_kv, s.seq_kv, s.head_dim, dtype_kv);
    dv = dense(s.batch, s.heads_kv, s.seq_kv, s.head_dim_v, dtype_kv);
    std::uint32_t state = 12345;
    dout->each_index([&](const std::vector<std::int64_t>& i) {
      state = state * 1664525u + 1013904223u;
      if (i[2] < p.queries(i[0])) dout->set(i, static_cast<double>(state >> 8) / (1 << 23) - 1);
    });
    problem = p.problem();
    problem.pass = training.pass;
    problem.dropout = training.dropout;
    problem.dropout_seed = training.seed;
    problem.needs |= (training.pass == ATTN_FORWARD ? 0 : ATTN_CAN_BACKWARD) | (training.dropout > 0 ? ATTN_CAN_DROPOUT : 0);
    tensors = p.tensors();
    if (training.pass != ATTN_FORWARD) tensors.dout = dout->dl(), tensors.dq = dq->dl(), tensors.dk = dk->dl(), tensors.dv = dv->dl();

    attn_device_facts device{};
    device.struct_size = sizeof device;
    device.device_type = ATTN_DEVICE_CPU;
    device.threads = threads;
    attn_support support{};
    support.struct_size = sizeof support;
    if (problem.needs & ~backend.can) throw std::runtime_error("the problem needs what the backend cannot");
    if (backend.supports(backend.self, &problem, &device, &support, &why_) != ATTN_OK) throw std::runtime_error(text_);
    const attn_options none{sizeof(attn_options), 0, nullptr, nullptr};
    if (backend.open(backend.self, &problem, &tensors, &device, &none, &state_, &why_) != ATTN_OK) throw std::runtime_error(text_);
    workspace_.resize(support.workspace_bytes + 4096 + 256);
    bytes_ = support.workspace_bytes;
  }
  ~Trained() {
    if (state_) backend_.close(state_);
  }
  Trained(const Trained&) = delete;
  Trained& operator=(const Trained&) = delete;

  // Poisons workspace and outputs of the pass, runs, and looks at what lies around them.
  void run(std::int32_t pass = ATTN_CALL_ALL, const attn_ops* ops = nullptr) {
    if (pass != ATTN_CALL_BACKWARD) p.o->poison(), p.lse->poison();
    if (pass != ATTN_CALL_FORWARD) dq->poison(), dk->poison(), dv->poison();
    std::memset(workspace_.data(), 0xff, workspace_.size());
    unsigned char* const aligned = workspace_.data() + (256 - reinterpret_cast<std::uintptr_t>(workspace_.data()) % 256) % 256;
    const attn_call call{sizeof(attn_call), pass, nullptr, &tensors, aligned, bytes_, ops};
    if (backend_.run(state_, &call, &why_) != ATTN_OK) throw std::runtime_error(text_);
    const unsigned char* const end = workspace_.data() + workspace_.size();
    for (const unsigned char* byte = aligned + bytes_; byte < end; ++byte) ASSERT_EQ(*byte, 0xff) << "past the workspace";
    for (const Tensor* tensor : {dq.get(), dk.get(), dv.get(), p.o.get()}) ASSERT_TRUE(tensor->untouched_outside());
  }
  std::vector<unsigned char> bits() const {
    std::vector<unsigned char> all;
    for (const Tensor* tensor : {p.o.get(), dq.get(), dk.get(), dv.get()}) all.insert(all.end(), tensor->bytes().begin(), tensor->bytes().end());
    return all;
  }

  Problem p;
  attn_problem problem{};
  attn_tensors tensors{};
  std::unique_ptr<Tensor> dout, dq, dk, dv;

 private:
  const attn_backend& backend_;
  void* state_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::vector<unsigned char> workspace_;
  char text_[512] = {};
  attn_text why_{text_, sizeof text_};
};

struct Expected {
  std::vector<double> dq, dk, dv;
};

// By the definition; `kept(n, j)`: by what dropout multiplies weight j of row n.
template <class Kept>
Expected definition(const Trained& t, const Kept& kept) {
  const Spec& s = t.p.spec();
  Expected e;
  e.dq.assign(static_cast<std::size_t>(s.batch * s.heads * s.seq_q * s.head_dim), 0);
  e.dk.assign(static_cast<std::size_t>(s.batch * s.heads_kv * s.seq_kv * s.head_dim), 0);
  e.dv.assign(static_cast<std::size_t>(s.batch * s.heads_kv * s.seq_kv * s.head_dim_v), 0);
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t h = 0; h < s.heads; ++h)
      for (std::int64_t i = 0; i < t.p.queries(b); ++i) {
        const std::int64_t g = h / (s.heads / s.heads_kv), n = (b * s.heads + h) * s.seq_q + i, keys = t.p.keys(b);
        const std::int64_t offset = s.alignment == ATTN_BOTTOM_RIGHT ? keys - t.p.queries(b) : 0;
        std::vector<double> weights(static_cast<std::size_t>(keys), 0), bend(weights), dp(weights);
        double sum = 0, delta = 0;
        bool dead = true;
        for (std::int64_t j = 0; j < keys; ++j) {
          const auto at = static_cast<std::size_t>(j);
          for (std::int64_t x = 0; x < s.head_dim_v; ++x) dp[at] += t.dout->get({b, h, i, x}) * t.p.v->get({b, g, j, x});
          dp[at] *= kept(n, j);
          if (!sees(t.p, b, h, i, j)) continue;
          dead = false;
          double x = 0;
          for (std::int64_t d = 0; d < s.head_dim; ++d) x += t.p.q->get({b, h, i, d}) * t.p.k->get({b, g, j, d});
          x *= t.problem.scale;
          bend[at] = s.softcap != 0 ? 1 - std::pow(std::tanh(x / s.softcap), 2) : 1;
          if (s.softcap != 0) x = s.softcap * std::tanh(x / s.softcap);
          if (!s.slopes.empty()) x -= static_cast<double>(s.slopes[static_cast<std::size_t>(h)]) * static_cast<double>(std::llabs(i + offset - j));
          if (s.mask == Mask::additive) x += t.p.mask->get({b, h, i, j});
          sum += weights[at] = std::exp(x);
        }
        if (dead && s.dead_rows == ATTN_DEAD_MEAN) weights.assign(weights.size(), 1), sum = static_cast<double>(keys);
        for (std::size_t at = 0; at < weights.size() && sum > 0; ++at) delta += (weights[at] /= sum) * dp[at];
        for (std::int64_t j = 0; j < keys; ++j) {
          const auto at = static_cast<std::size_t>(j);
          const double ds = dead ? 0 : weights[at] * (dp[at] - delta) * bend[at] * t.problem.scale;
          const auto key = static_cast<std::size_t>((b * s.heads_kv + g) * s.seq_kv + j);
          for (std::int64_t x = 0; x < s.head_dim; ++x) {
            e.dq[static_cast<std::size_t>(n * s.head_dim + x)] += ds * t.p.k->get({b, g, j, x});
            e.dk[key * static_cast<std::size_t>(s.head_dim) + static_cast<std::size_t>(x)] += ds * t.p.q->get({b, h, i, x});
          }
          for (std::int64_t x = 0; x < s.head_dim_v; ++x)
            e.dv[key * static_cast<std::size_t>(s.head_dim_v) + static_cast<std::size_t>(x)] += weights[at] * kept(n, j) * t.dout->get({b, h, i, x});
        }
      }
  return e;
}

void expect_near(const char* name, const Tensor& found, const std::vector<double>& expected, double tolerance, const std::string& what) {
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::fabs(value));
  std::size_t at = 0;
  found.each_index([&](const std::vector<std::int64_t>& i) {
    const double want = expected[at++], have = found.get(i);
    if (!(std::fabs(have - want) <= tolerance * std::max(largest, 1e-3)))
      ADD_FAILURE() << what << ": " << name << "(" << i[0] << ", " << i[1] << ", " << i[2] << ", " << i[3] << ") is " << have << ", right is " << want;
  });
}

double tolerance_of(std::int32_t dtype) { return dtype == ATTN_FP32 ? 2e-5 : dtype == ATTN_FP16 ? 2e-3 : 1e-2; }

std::vector<Spec> specs() {
  const std::vector<Spec> all{
      {.batch = 2},
      {.batch = 2, .seq_q = 300, .seq_kv = 290, .head_dim = 16, .mask = Mask::causal},
      {.heads = 6, .heads_kv = 2, .head_dim_v = 5},
      {.heads = 6, .heads_kv = 3, .softcap = 1.5},
      {.heads = 4, .heads_kv = 1, .mask = Mask::causal, .alignment = ATTN_BOTTOM_RIGHT},
      {.seq_q = 9, .mask = Mask::causal, .alignment = ATTN_BOTTOM_RIGHT},
      {.seq_q = 9, .mask = Mask::causal, .alignment = ATTN_BOTTOM_RIGHT, .dead_rows = ATTN_DEAD_MEAN},
      {.mask = Mask::boolean, .pattern = Pattern::last_row_dead, .mask_batch = true, .mask_head = true},
      {.mask = Mask::additive, .mask_head = true, .window_left = 3, .softcap = 2, .slopes = {0.5f, 0.25f}},
      {.alignment = ATTN_BOTTOM_RIGHT, .window_left = 2, .window_right = 1},
      {.batch = 4, .heads = 9, .heads_kv = 3, .seq_q = 2, .seq_kv = 5, .lengths_q = {0, 1, 0, 2}, .lengths_kv = {0, 3, 5, 4}},
      {.scale = 0.0},
      {.softcap = 1, .scale = -0.6},
      {.layout = ATTN_BSHD},
      {.q = Stride::expanded, .k = Stride::transposed, .v = Stride::sliced, .o = Stride::transposed},
  };
  return all;
}

struct Backend {
  const char* file;
  const char* name;
};
class Gradients : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    backend_ = find_backend(GetParam().file, GetParam().name);
    if (!backend_) GTEST_SKIP() << "lib" << GetParam().file << ".so was not built";
  }
  const attn_backend& backend() const { return *backend_; }
  bool is_flash() const { return std::string(GetParam().name) == "flash"; }

 private:
  const attn_backend* backend_ = nullptr;
};

TEST_P(Gradients, AreTheDefinitions) {
  for (Spec spec : specs())
    for (const std::int32_t dtype : {ATTN_FP32, ATTN_FP16, ATTN_BF16})
      for (const bool transposed : {false, true}) {
        spec.dtype = dtype;
        Trained t(backend(), spec, {.dout_transposed = transposed, .dout_expanded = !transposed && spec.heads > 2});
        t.run();
        const Expected e = definition(t, [](std::int64_t, std::int64_t) { return 1.0; });
        expect_near("dq", *t.dq, e.dq, tolerance_of(dtype), to_string(spec));
        expect_near("dk", *t.dk, e.dk, tolerance_of(dtype), to_string(spec));
        expect_near("dv", *t.dv, e.dv, tolerance_of(dtype), to_string(spec));
      }
}

TEST_P(Gradients, OfTheBackwardPassAloneAreTheSameBits) {
  for (const Spec& spec : specs()) {
    const double dropout = is_flash() && spec.dead_rows == ATTN_DEAD_MEAN ? 0 : 0.2;  // flash has no dropout of a mean
    Trained both(backend(), spec, {.dropout = dropout}), apart(backend(), spec, {.dropout = dropout, .pass = ATTN_BACKWARD}, 1);
    both.run();
    apart.run(ATTN_CALL_FORWARD);
    apart.run(ATTN_CALL_BACKWARD);
    EXPECT_EQ(both.bits(), apart.bits()) << to_string(spec);
  }
}

// Which weights are kept is read off a forward pass whose v is the identity.
TEST_P(Gradients, WithDropoutUseTheForwardPassesMask) {
  const Spec spec{.heads = 4, .heads_kv = 2, .seq_q = 40, .seq_kv = 30, .head_dim_v = 30, .softcap = 2};
  Trained t(backend(), spec, {.dropout = 0.3});
  t.p.fill_v([](std::int64_t, std::int64_t, std::int64_t j, std::int64_t d) { return j == d ? 1.0 : 0.0; });
  t.run();
  const Spec& s = t.p.spec();
  std::vector<double> kept;
  int dropped = 0;
  t.p.o->each_index([&](const std::vector<std::int64_t>& i) {
    const Row row = reference_row(t.p, i[0], i[1], i[2]);
    const double factor = t.p.o->get(i) / row.o[static_cast<std::size_t>(i[3])];
    if (factor == 0) ++dropped;
    else EXPECT_NEAR(factor, 1 / 0.7, 1e-4);
    kept.push_back(factor == 0 ? 0 : 1 / 0.7);
  });
  EXPECT_NEAR(dropped / static_cast<double>(kept.size()), 0.3, 0.03);
  const Expected e = definition(t, [&](std::int64_t n, std::int64_t j) { return kept[static_cast<std::size_t>(n * s.seq_kv + j)]; });
  expect_near("dq", *t.dq, e.dq, 2e-5, "dropout");
  expect_near("dk", *t.dk, e.dk, 2e-5, "dropout");
  expect_near("dv", *t.dv, e.dv, 2e-5, "dropout");
}

TEST_P(Gradients, ARowWithoutAKeyUnderNanSpoilsItsSequenceAtMost) {
  Trained t(backend(), {.batch = 2, .seq_q = 7, .seq_kv = 7, .mask = Mask::causal, .alignment = ATTN_BOTTOM_RIGHT, .lengths_q = {7, 5}, .lengths_kv = {6, 5},
                         .dead_rows = ATTN_DEAD_NAN});
  t.run();
  EXPECT_EQ(std::isnan(t.dv->get({0, 1, 3, 2})), !is_flash());  // which skips what sees nothing
  t.dv->each_index([&](const std::vector<std::int64_t>& i) {
    if (i[0] == 1) {
      EXPECT_TRUE(std::isfinite(t.dv->get(i)) && std::isfinite(t.dk->get(i)));
    }
  });
}

// BLAS sums in another order where an operand is laid out otherwise; flash does not.
TEST_P(Gradients, OfStridedOperandsAreThoseOfTheContiguousTwin) {
  if (!is_flash()) GTEST_SKIP() << "BLAS sums in the order of the strides";
  for (const std::int32_t dtype : {ATTN_FP32, ATTN_BF16})
    for (const Stride stride : {Stride::transposed, Stride::sliced, Stride::expanded})
      for (int tensors = 1; tensors < 8; ++tensors) {
        const Spec contiguous{.batch = 2, .heads = 4, .heads_kv = 2, .seq_q = 70, .seq_kv = 90, .head_dim = 16, .dtype = dtype, .mask = Mask::causal, .softcap = 2};
        Spec strided = contiguous;
        if (tensors & 1) strided.q = stride;
        if (tensors & 2) strided.k = stride;
        if (tensors & 4) strided.v = stride;
        Trained view(backend(), strided, {.dropout = 0.1, .dout_transposed = stride == Stride::transposed}), twin(backend(), contiguous, {.dropout = 0.1});
        const auto same_as = [](const Tensor& tensor) { return [&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) { return tensor.get({b, h, s, d}); }; };
        twin.p.fill_q(same_as(*view.p.q));
        twin.p.fill_k(same_as(*view.p.k));
        twin.p.fill_v(same_as(*view.p.v));
        view.run();
        twin.run();
        EXPECT_EQ(view.bits(), twin.bits()) << to_string(strided);
      }
}

const Backend kTrained[] = {{"chain", "naive"}, {"chain", "math"}, {"flash", "flash"}};
INSTANTIATE_TEST_SUITE_P(Cpu, Gradients, testing::ValuesIn(kTrained), [](const auto& each) { return std::string(each.param.name); });

TEST(Dropout, DependsOnTheSeedAlone) {
  for (const auto& [file, name] : {Backend{"chain", "naive"}, Backend{"chain", "naive_inplace"}, Backend{"chain", "math"}, Backend{"flash", "flash"}}) {
    const attn_backend* backend = find_backend(file, name);
    if (!backend) GTEST_SKIP() << "lib" << file << ".so was not built";
    const Spec spec{.heads = 4, .seq_q = 33, .seq_kv = 41};
    const auto output = [&](std::uint64_t seed, int threads) {
      Trained t(*backend, spec, {.dropout = 0.5, .seed = seed, .pass = ATTN_FORWARD}, threads);
      t.run(ATTN_CALL_FORWARD);
      return t.p.o->bytes();
    };
    EXPECT_EQ(output(1, 2), output(1, 1)) << name;
    EXPECT_NE(output(1, 2), output(2, 2)) << name;
    EXPECT_NE(output(1, 2), output(1 + (std::uint64_t{1} << 32), 2)) << name;
  }
}

TEST(Operations, NaivesBackwardPass) {
  const attn_backend* backend = find_backend("chain", "naive");
  if (!backend) GTEST_SKIP() << "libchain.so was not built";
  Listener listener;
  Trained t(*backend, {.heads = 4, .heads_kv = 2, .mask = Mask::causal, .softcap = 2}, {.dropout = 0.1});
  t.run(ATTN_CALL_ALL, listener.ops());
  EXPECT_TRUE(listener.balanced());
  EXPECT_THAT(listener.names(), ElementsAre("cpu_gemm_qk", "cpu_scale", "cpu_softcap", "cpu_masked_fill", "cpu_softmax", "cpu_dropout", "cpu_gemm_pv", "cpu_gemm_dv",
                                            "cpu_gemm_dp", "cpu_dropout_backward", "cpu_softmax_backward", "cpu_softcap_backward", "cpu_scale_backward",
                                            "cpu_gemm_dq", "cpu_gemm_dk"));
  listener.clear();
  t.run(ATTN_CALL_BACKWARD, listener.ops());
  EXPECT_THAT(listener.names(), Contains("cpu_softmax"));
  EXPECT_THAT(listener.names(), Not(Contains("cpu_gemm_pv")));
  listener.clear();
  t.run(ATTN_CALL_FORWARD, listener.ops());
  EXPECT_THAT(listener.names(), Not(Contains("cpu_gemm_dv")));
}

TEST(Operations, MathScalesBothGradientsAndHalfPrecisionIsCast) {
  const attn_backend* backend = find_backend("chain", "math");
  if (!backend) GTEST_SKIP() << "libchain.so was not built";
  Listener listener;
  Trained t(*backend, {.dtype = ATTN_BF16}, {.pass = ATTN_BACKWARD});
  t.run(ATTN_CALL_BACKWARD, listener.ops());
  EXPECT_THAT(listener.names(), ElementsAre("cpu_cast_q", "cpu_cast_k", "cpu_cast_v", "cpu_scale_q", "cpu_scale_k", "cpu_gemm_qk", "cpu_is_neginf", "cpu_softmax",
                                            "cpu_all_masked", "cpu_where", "cpu_cast_dout", "cpu_gemm_dv", "cpu_gemm_dp", "cpu_softmax_backward", "cpu_gemm_dq",
                                            "cpu_gemm_dk", "cpu_scale_dq", "cpu_scale_dk", "cpu_cast_dq", "cpu_cast_dk", "cpu_cast_dv"));
}

TEST(Operations, FlashGoesBackInTwo) {
  const attn_backend* backend = find_backend("flash", "flash");
  if (!backend) GTEST_SKIP() << "libflash.so was not built";
  Listener listener;
  Trained t(*backend, {.heads = 4, .heads_kv = 2, .mask = Mask::causal, .softcap = 2}, {.dropout = 0.1});
  t.run(ATTN_CALL_ALL, listener.ops());
  EXPECT_THAT(listener.names(), ElementsAre("flash_fwd_cpu", "flash_bwd_dq_cpu", "flash_bwd_dkdv_cpu"));
  listener.clear();
  t.run(ATTN_CALL_BACKWARD, listener.ops());
  EXPECT_THAT(listener.names(), ElementsAre("flash_bwd_dq_cpu", "flash_bwd_dkdv_cpu"));
}

TEST(Refusals, FlashHasNoDropoutOfAMean) {
  const attn_backend* backend = find_backend("flash", "flash");
  if (!backend) GTEST_SKIP() << "libflash.so was not built";
  EXPECT_THAT([&] { Trained t(*backend, {.dead_rows = ATTN_DEAD_MEAN}, {.dropout = 0.1}); },
              testing::ThrowsMessage<std::runtime_error>(HasSubstr("dropout of the mean")));
}

TEST(Refusals, InplaceLacksABackwardPassAndSaysWhy) {
  const attn_backend* backend = find_backend("chain", "naive_inplace");
  if (!backend) GTEST_SKIP() << "libchain.so was not built";
  EXPECT_FALSE(backend->can & ATTN_CAN_BACKWARD);
  EXPECT_TRUE(backend->can & ATTN_CAN_DROPOUT);
  EXPECT_EQ(backend->why_not_bits, ATTN_CAN_BACKWARD);
  EXPECT_THAT(backend->why_not, HasSubstr("overwrite the scores that autograd needs"));
}

}  // namespace
}  // namespace attn::test
