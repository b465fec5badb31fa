#include "engine/reference.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>

#include "card.hpp"

namespace attn {
namespace {

using GpuReferenceOf = OnCard;

// The operands of a case on both sides.
class Both {
 public:
  Both(const Case& value, std::uint64_t seed, const std::array<Lay, 3>& lays = {}) : c(value) {
    tensors_ = laid_operands(c, lays);
    fill_inputs(c, seed, tensors_[0].view, tensors_[1].view, tensors_[2].view);
    if (c.mask == MaskKind::tensor) {
      tensors_.emplace_back(mask_dtype(c), mask_shape(c), Lay::bhsd);
      fill_mask(c, seed, tensors_[3].view);
    }
    host = {tensors_[0].view, tensors_[1].view, tensors_[2].view, c.mask == MaskKind::tensor ? tensors_[3].view : TensorView{}};
    upload();
  }
  void upload() {
    twins_.clear();
    for (const Laid& tensor : tensors_) twins_.emplace_back(tensor.bytes);
    card = {tensors_[0].on(twins_[0]), tensors_[1].on(twins_[1]), tensors_[2].on(twins_[2]), host.mask ? tensors_[3].on(twins_[3]) : TensorView{}};
  }
  std::vector<OutputRow> rows() const {
    std::vector<OutputRow> all;
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::int64_t h = 0; h < c.heads; ++h)
        for (std::int64_t s = 0; s < c.seq_q; ++s) all.push_back({b, h, s});
    return all;
  }
  Reading right() const { return {.value = c, .text = {}}; }

  Case c;
  Operands host, card;

 private:
  std::vector<Laid> tensors_;
  std::vector<Twin> twins_;
};

// Equal, both NaN, or within `tolerance`.
bool near(double a, double b, double tolerance) { return a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= tolerance; }

double largest_of_row(const Evaluation& e, std::size_t row) {
  double largest = 1;
  const auto columns = static_cast<std::size_t>(e.columns);
  for (std::size_t x = 0; x < columns; ++x) largest = std::fmax(largest, std::fabs(e.out[row * columns + x]));
  return largest;
}

void expect_equal(const Evaluation& card, const Evaluation& host, const std::string& what) {
  ASSERT_EQ(card.columns, host.columns);
  ASSERT_EQ(card.out.size(), host.out.size());
  ASSERT_EQ(card.scatter.size(), host.scatter.size());
  const auto columns = static_cast<std::size_t>(host.columns);
  for (std::size_t i = 0; i < host.lse.size(); ++i) {
    const double tolerance = 1e-12 * largest_of_row(host, i);
    ASSERT_EQ(card.visible[i], host.visible[i]) << what << ", row " << i;
    ASSERT_TRUE(near(card.lse[i], host.lse[i], 1e-12 * std::fmax(1, std::fabs(host.lse[i]))))
        << what << ", lse of row " << i << ": " << card.lse[i] << " " << host.lse[i];
    ASSERT_TRUE(near(card.noise[i], host.noise[i], tolerance)) << what << ", noise of row " << i << ": " << card.noise[i] << " " << host.noise[i];
    if (!host.scatter.empty()) {
      ASSERT_TRUE(near(card.scatter[i], host.scatter[i], 1e-12 * host.scatter[i])) << what << ", scatter of row " << i;
      ASSERT_TRUE(near(card.scatter_squares[i], host.scatter_squares[i], 1e-12 * host.scatter_squares[i])) << what << ", squared scatter of row " << i;
    }
    for (std::size_t x = 0; x < columns; ++x)
      ASSERT_TRUE(near(card.out[i * columns + x], host.out[i * columns + x], tolerance))
          << what << ", row " << i << ", column " << x << ": " << card.out[i * columns + x] << " " << host.out[i * columns + x];
  }
}

struct Errors {
  double sum = 0, largest = 0;
};
Errors errors(const Evaluation& a, const Evaluation& exact) {
  Errors result;
  for (std::size_t i = 0; i < a.out.size(); ++i) {
    const double error = std::fabs(a.out[i] - exact.out[i]);
    if (std::isnan(error)) continue;
    result.sum += error;
    result.largest = std::fmax(result.largest, error);
  }
  return result;
}

TEST_F(GpuReferenceOf, AnyCaseIsTheHosts) {
  Dice dice(11);
  for (int i = 0; i < 250 && !HasFailure(); ++i) {
    Case c = random_case(dice);
    if (dice.chance(4)) scatter(c, dice);
    const auto lay = [&] { return static_cast<Lay>(dice(0, 5)); };
    Both both(c, static_cast<std::uint64_t>(i), {lay(), lay(), lay()});
    Reading reading = both.right();
    if (dice.chance(3)) reading.head_map = HeadMap::modulo;
    if (dice.chance(6) && c.heads < c.heads_kv * c.heads_kv) reading.head_map = HeadMap::divided_by_kv;
    if (i % 4 == 0) reading.value.dropout = 0.25;
    reading.mask_inverted = dice.chance(3);
    reading.alibi_by_key = dice.chance(3);
    reading.kv_strides_ignored = !both.host.k.rows && dice.chance(3);
    std::vector<OutputRow> rows = both.rows();
    if (dice.chance(2)) {  // some of them, in disorder
      for (std::size_t j = rows.size(); j > 1; --j) std::swap(rows[j - 1], rows[static_cast<std::size_t>(dice(0, static_cast<std::int64_t>(j) - 1))]);
      rows.resize(static_cast<std::size_t>(dice(1, static_cast<std::int64_t>(rows.size()))));
    }
    const GpuReference card(both.card, stream.get());
    const Evaluation exact = reference(reading, both.host, rows);
    expect_equal(card.exact(reading, rows), exact, std::to_string(i) + " " + case_id(c));

    // Sums in another order may round a score or a weight the other way, no more.
    const Evaluation theirs = card.naive(reading, rows), ours = naive(reading, both.host, rows);
    const Errors their = errors(theirs, exact), our = errors(ours, exact);
    const double ulp = std::ldexp(1.0, std::array{-23, -10, -7, -3, -2}[static_cast<std::size_t>(c.dtype)]);
    double scale = 1;
    for (std::size_t row = 0; row < rows.size(); ++row) scale = std::fmax(scale, largest_of_row(exact, row));
    EXPECT_LE(their.largest, 4 * our.largest + 4 * ulp * scale) << i << " " << case_id(c);
    EXPECT_LE(our.largest, 4 * their.largest + 4 * ulp * scale) << i << " " << case_id(c);
    for (std::size_t row = 0; row < rows.size(); ++row) ASSERT_EQ(std::isnan(theirs.lse[row]), std::isnan(ours.lse[row])) << i << " " << case_id(c);
  }
}

// What a naive loop over many keys errs is the budget of fp32; a cleverer sum would leave an honest product no room.
TEST_F(GpuReferenceOf, NaiveSumsRunInOrder) {
  Case c;
  c.heads = 4;
  c.heads_kv = 4;
  c.seq_q = 32;
  c.seq_kv = 4096;
  c.head_dim = c.head_dim_v = 64;
  Both both(c, 2);
  const GpuReference card(both.card, stream.get());
  const Evaluation exact = card.exact(both.right(), both.rows());
  const double ratio = errors(card.naive(both.right(), both.rows()), exact).sum / errors(naive(both.right(), both.host, both.rows()), exact).sum;
  EXPECT_GT(ratio, 0.9);
  EXPECT_LT(ratio, 1.1);
}

TEST_F(GpuReferenceOf, NaiveRoundingHasTheHostsErrors) {
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16, DType::fp8_e4m3}) {
    Case c;
    c.heads = 4;
    c.heads_kv = 2;
    c.seq_q = c.seq_kv = 256;
    c.dtype = c.dtype_kv = dtype;
    c.mask = MaskKind::causal;
    c.softcap = 20;
    c.alibi.emplace();
    Both both(c, 5);
    const GpuReference card(both.card, stream.get());
    const Evaluation exact = card.exact(both.right(), both.rows());
    const double ratio = errors(card.naive(both.right(), both.rows()), exact).sum / errors(naive(both.right(), both.host, both.rows()), exact).sum;
    EXPECT_GT(ratio, 0.95) << word(dtype);
    EXPECT_LT(ratio, 1.05) << word(dtype);
  }
}

TEST_F(GpuReferenceOf, OneRowOfManyKeysIsCutIntoParts) {
  Case c;
  c.heads = 2;
  c.seq_kv = 70'001;
  c.head_dim = 24;
  c.head_dim_v = 40;
  c.dtype = c.dtype_kv = DType::bf16;
  Both both(c, 6);
  expect_equal(GpuReference(both.card, stream.get()).exact(both.right(), both.rows()), reference(both.right(), both.host, both.rows()), case_id(c));
}

TEST_F(GpuReferenceOf, MoreHeadsThanAGridHasRows) {
  Case c;
  c.batch = 65'537;
  c.seq_kv = 2;
  c.head_dim = c.head_dim_v = 2;
  Both both(c, 7);
  expect_equal(GpuReference(both.card, stream.get()).exact(both.right(), both.rows()), reference(both.right(), both.host, both.rows()), case_id(c));
}

TEST_F(GpuReferenceOf, NoRowsIsEmpty) {
  Both both(Case{}, 8);
  const Evaluation nothing = GpuReference(both.card, stream.get()).exact(both.right(), {});
  EXPECT_TRUE(nothing.out.empty());
  EXPECT_EQ(nothing.columns, 64);
}

TEST_F(GpuReferenceOf, EveryMisreadingOfRowsAndPagesIsTheHosts) {
  Dice dice(12);
  for (int i = 0; i < 60 && !HasFailure(); ++i) {
    Case c = random_case(dice);
    c.inputs = Inputs::normal;
    scatter(c, dice);
    Both both(c, static_cast<std::uint64_t>(i));
    const GpuReference card(both.card, stream.get());
    for (const Reading& reading : misreadings(c))
      if (!reading.key_places.empty())
        expect_equal(card.exact(reading, both.rows()), reference(reading, both.host, both.rows()), case_id(c) + ": " + reading.text);
  }
}

TEST_F(GpuReferenceOf, ValuesOfHiddenKeysMayBeAnything) {
  Case c;
  c.heads = 2;
  c.heads_kv = 1;
  c.seq_q = 20;
  c.seq_kv = 50;
  c.mask = MaskKind::tensor;
  c.mask_tensor.pattern = MaskPattern::all_true;
  Both both(c, 9);
  for (std::int64_t row = 0; row < c.seq_q; ++row) static_cast<std::uint8_t*>(both.host.mask.data)[both.host.mask.offset(0, 0, row, 17)] = 0;
  for (std::int64_t x = 0; x < c.head_dim_v; ++x) both.host.v.store(0, 0, 17, x, std::nanf(""));
  both.upload();
  const Evaluation card = GpuReference(both.card, stream.get()).exact(both.right(), both.rows());
  expect_equal(card, reference(both.right(), both.host, both.rows()), case_id(c));
  EXPECT_TRUE(std::isfinite(card.out[0]));
}

TEST_F(GpuReferenceOf, MemoryThatIsNotThereIsAnErrorWithItsSizeAndTheNextCallWorks) {
  Case c;
  c.head_dim_v = 1;
  Both both(c, 10);
  Case huge = c;
  huge.seq_kv = std::int64_t{1} << 45;
  const GpuReference card(both.card, stream.get());
  try {
    card.exact({.value = huge, .text = {}}, both.rows());
    FAIL() << "an error was expected";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("bytes of device memory"));
  }
  expect_equal(card.exact(both.right(), both.rows()), reference(both.right(), both.host, both.rows()), case_id(c));
}

TEST_F(GpuReferenceOf, AModelsPrefillTakesLessThanASecond) {
  Case c;
  c.heads = 32;
  c.heads_kv = 8;
  c.seq_q = c.seq_kv = 8192;
  c.head_dim = c.head_dim_v = 128;
  c.dtype = c.dtype_kv = DType::bf16;
  c.mask = MaskKind::causal;
  const auto seconds = [&](const char* what, const auto& body) {
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      const auto start = std::chrono::steady_clock::now();
      body();
      wait();
      best = std::fmin(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    std::printf("%s: %.2f ms\n", what, best * 1e3);
    return best;
  };
  const std::size_t q_bytes = 32u * 8192 * 128 * 2, kv_bytes = q_bytes / 4;
  const DeviceMemory q = allocate_device(q_bytes), k = allocate_device(kv_bytes), v = allocate_device(kv_bytes);
  const auto view = [](void* data, std::int64_t heads) {
    return TensorView{data, ATTN_BF16, {1, heads, 8192, 128}, {heads * 8192 * 128, 8192 * 128, 128, 1}};
  };
  const Operands operands{view(q.get(), 32), view(k.get(), 8), view(v.get(), 8), {}};
  seconds("inputs of S 8192, H 32.8, D 128", [&] { gpu_fill_inputs(c, 1, operands.q, operands.k, operands.v, stream.get()); });
  std::vector<OutputRow> rows;
  for (std::int64_t h = 0; h < c.heads; ++h)
    for (std::int64_t s = 0; s < c.seq_q; ++s) rows.push_back({0, h, s});
  const Reading reading{.value = c, .text = {}};
  const GpuReference card(operands, stream.get());
  const Evaluation first = card.exact(reading, std::span(rows).first(1));
  EXPECT_EQ(first.visible[0], 1);
  seconds("reference of one row", [&] { card.exact(reading, std::span(rows).last(1)); });
  seconds("reference of 4096 rows", [&] { card.exact(reading, std::span(rows).last(4096)); });
  seconds("naive, all rows", [&] { card.naive(reading, rows); });
  EXPECT_LT(seconds("reference, all rows", [&] { card.exact(reading, rows); }), 1.0);
  const Event start = make_event(), end = make_event();
  cudaEventRecord(start.get(), stream.get());
  card.exact(reading, std::span(rows).first(65536));
  cudaEventRecord(end.get(), stream.get());
  wait();
  float ms = 0;
  check_cuda(cudaEventElapsedTime(&ms, start.get(), end.get()), "cudaEventElapsedTime");
  std::printf("reference of a quarter of the rows, upload and download included: %.2f ms\n", static_cast<double>(ms));
}

}  // namespace
}  // namespace attn
