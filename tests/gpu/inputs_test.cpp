#include "../unit/engine/input_hashes.hpp"
#include "card.hpp"

namespace attn {
namespace {

using GpuInputs = OnCard;

// q, k, v and the mask of a case, filled on both sides.
struct Filled {
  Filled(const Case& c, std::uint64_t seed, const std::array<Lay, 3>& lays, cudaStream_t stream, StrideKind kind = StrideKind::dense) {
    host = laid_operands(c, lays, kind);
    if (c.mask == MaskKind::tensor) host.emplace_back(mask_dtype(c), mask_shape(c), Lay::bhsd);
    for (const Laid& tensor : host) card.emplace_back(tensor.bytes);
    gpu_fill_inputs(c, seed, host[0].on(card[0]), host[1].on(card[1]), host[2].on(card[2]), stream);
    fill_inputs(c, seed, host[0].view, host[1].view, host[2].view);
    if (c.mask == MaskKind::tensor) {
      gpu_fill_mask(c, seed, host[3].on(card[3]), stream);
      fill_mask(c, seed, host[3].view);
    }
  }
  std::vector<Laid> host;
  std::vector<Twin> card;
};

void expect_equal(const Filled& filled, const std::string& what) {
  for (std::size_t i = 0; i < filled.host.size(); ++i) {
    const std::vector<std::uint8_t> card = filled.card[i].read();
    const auto [a, b] = std::mismatch(card.begin(), card.end(), filled.host[i].bytes.begin());
    ASSERT_TRUE(a == card.end()) << what << ", tensor " << i << ", byte " << a - card.begin() << ": card " << int{*a} << ", host " << int{*b};
  }
}

TEST_F(GpuInputs, AreTheHostsBitForBitInEveryDtypeRecipeAndLayout) {
  Dice dice(1);
  for (int i = 0; i < 300 && !HasFailure(); ++i) {
    const Case c = random_case(dice);
    const auto lay = [&] { return static_cast<Lay>(dice(0, 5)); };
    const std::array<Lay, 3> lays{lay(), lay(), lay()};
    expect_equal(Filled(c, static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15u, lays, stream.get()), case_id(c));
  }
}

// What no row owns stays as it was.
TEST_F(GpuInputs, OfRaggedAndPagedCasesAreTheHostsBitForBit) {
  Dice dice(3);
  for (int i = 0; i < 120 && !HasFailure(); ++i) {
    Case c = random_case(dice);
    scatter(c, dice);
    const StrideKind kind = std::array{StrideKind::dense, StrideKind::transposed, StrideKind::sliced, StrideKind::expanded}[static_cast<std::size_t>(dice(0, 3))];
    expect_equal(Filled(c, static_cast<std::uint64_t>(i), {}, stream.get(), kind), case_id(c));
  }
}

TEST_F(GpuInputs, OfABackwardPassAreTheHostsBitForBit) {
  Dice dice(5);
  for (int i = 0; i < 200 && !HasFailure(); ++i) {
    Case c = random_case(dice);
    if (dice.chance(3)) scatter(c, dice);
    const std::array<std::int64_t, 4> shape{c.batch, c.heads, c.seq_q, c.head_dim_v};
    const auto dtype = static_cast<std::int32_t>(c.dtype);
    Laid dout = c.layout == Layout::thd ? Laid(dtype, ragged_layout(shape, c.lengths_q, StrideKind::dense)) : Laid(dtype, shape, static_cast<Lay>(dice(0, 5)));
    const Twin card(dout.bytes);
    const auto seed = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15u;
    gpu_fill_gradient(c, seed, dout.on(card), stream.get());
    fill_gradient(c, seed, dout.view);
    EXPECT_EQ(card.read(), dout.bytes) << case_id(c);
  }
}

TEST_F(GpuInputs, HaveThePinnedHashes) {
  for (const PinnedInputs& pinned : pinned_inputs()) {
    const Filled filled(pinned.value, pinned.seed, {Lay::bhsd, Lay::bhsd, Lay::bhsd}, stream.get());
    std::vector<std::vector<std::uint8_t>> bytes;
    std::vector<TensorView> views;
    for (std::size_t i = 0; i < filled.card.size(); ++i) {
      bytes.push_back(filled.card[i].read());
      views.push_back(filled.host[i].view);
      views.back().data = bytes.back().data();
    }
    const std::uint64_t hash = hash_inputs(views);
    EXPECT_EQ(hash, pinned.hash) << case_id(pinned.value) << std::hex << " " << hash;
  }
}

TEST_F(GpuInputs, OfMoreHeadsThanAGridHasRowsAreComplete) {
  Case c;
  c.batch = 65537;
  c.head_dim = 3;
  c.head_dim_v = 1;
  c.mask = MaskKind::tensor;
  c.mask_tensor = {.pattern = MaskPattern::random, .full = {true, true, true, true}};
  const std::array<Lay, 3> lays{Lay::bhsd, Lay::bhsd, Lay::bhsd};
  expect_equal(Filled(c, 7, lays, stream.get()), case_id(c));
  c.inputs = Inputs::poison_padding;
  c.lengths_q.assign(65537, 1);
  c.lengths_kv.assign(65537, 1);
  c.lengths_q[65536] = c.lengths_kv[3] = 0;
  expect_equal(Filled(c, 7, lays, stream.get()), case_id(c).substr(0, 100));
}

TEST_F(GpuInputs, WithOverlappingRowsAreRefused) {
  Case c;
  c.seq_q = c.seq_kv = 4;
  Laid q(ATTN_FP32, {1, 1, 4, 64}, Lay::bhsd);
  const Twin twin(q.bytes);
  TensorView view = q.on(twin);
  view.strides[2] = 1;
  EXPECT_THROW(gpu_fill_inputs(c, 1, view, q.on(twin), q.on(twin), stream.get()), Error);
}

TEST_F(GpuInputs, CopiedDenseFromRaggedRowsHaveZerosWhereThereIsNone) {
  Dice dice(4);
  for (int i = 0; i < 60; ++i) {
    Case c = random_case(dice);
    scatter(c, dice);
    for (Laid& source : laid_operands(c, {}, dice.chance(2) ? StrideKind::sliced : StrideKind::dense)) {
      if (!source.view.rows) continue;
      for (std::uint8_t& byte : source.bytes) byte = static_cast<std::uint8_t>(dice(0, 255));
      const auto size = element_bytes(source.view.dtype);
      const auto& shape = source.view.shape;
      std::vector<std::uint8_t> want;
      for (std::int64_t b = 0; b < shape[0]; ++b)
        for (std::int64_t s = 0; s < shape[2]; ++s)
          for (std::int64_t n = 0; n < shape[1] * shape[3]; ++n) {
            if (!source.view.has_row(b, s)) {
              want.insert(want.end(), size, 0);
              continue;
            }
            const std::uint8_t* const at = source.bytes.data() + static_cast<std::size_t>(source.view.offset(b, n / shape[3], s, n % shape[3])) * size;
            want.insert(want.end(), at, at + size);
          }
      const Twin from(source.bytes), to(std::vector<std::uint8_t>(want.size() + 16, 0xa5));
      gpu_copy_dense(source.on(from), to.data(), stream.get());
      wait();
      const std::vector<std::uint8_t> got = to.read();
      ASSERT_TRUE(std::equal(want.begin(), want.end(), got.begin())) << case_id(c);
      ASSERT_EQ(got[want.size()], 0xa5);
    }
  }
}

TEST_F(GpuInputs, CopiedDenseKeepTheirBits) {
  Dice dice(2);
  for (int i = 0; i < 100; ++i) {
    const std::array<std::int64_t, 4> shape{dice(1, 3), dice(1, 5), dice(1, 40), dice.chance(2) ? dice(1, 100) : 64};
    const auto dtype = static_cast<std::int32_t>(dice(0, 4));
    Laid source(dtype, shape, static_cast<Lay>(dice(0, 5)));
    for (std::uint8_t& byte : source.bytes) byte = static_cast<std::uint8_t>(dice(0, 255));
    const auto size = element_bytes(dtype);
    std::vector<std::uint8_t> want;
    for (std::int64_t b = 0; b < shape[0]; ++b)
      for (std::int64_t s = 0; s < shape[2]; ++s)
        for (std::int64_t h = 0; h < shape[1]; ++h)
          for (std::int64_t d = 0; d < shape[3]; ++d) {
            const std::uint8_t* const at = source.bytes.data() + static_cast<std::size_t>(source.view.offset(b, h, s, d)) * size;
            want.insert(want.end(), at, at + size);
          }
    const std::size_t shift = dice.chance(2) ? size : 0, total = want.size();  // an address that wide accesses cannot have
    const Twin from(source.bytes), to(std::vector<std::uint8_t>(total + shift + 16, 0xa5));
    gpu_copy_dense(source.on(from), to.data() + shift, stream.get());
    wait();
    std::vector<std::uint8_t> got = to.read();
    ASSERT_TRUE(std::equal(want.begin(), want.end(), got.begin() + static_cast<std::ptrdiff_t>(shift))) << i;
    ASSERT_EQ(got[total + shift], 0xa5);
  }
}

}  // namespace
}  // namespace attn
