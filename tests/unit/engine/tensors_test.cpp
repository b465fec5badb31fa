#include "engine/tensors.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.hpp"
#include "engine/host_device.hpp"
#include "engine/merge_heads.hpp"

namespace attn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Device& host() {
  static HostDevice device;
  return device;
}

Case small() {
  Case c;
  c.name = "t";
  c.batch = 2;
  c.heads = 4;
  c.heads_kv = 2;
  c.seq_q = c.seq_kv = 3;
  c.head_dim = c.head_dim_v = 8;
  return c;
}

std::vector<std::int64_t> strides(const DLTensor& tensor) { return {tensor.strides, tensor.strides + tensor.ndim}; }

TEST(Tensors, LieAsTheLayoutSays) {
  Case c = small();
  EXPECT_THAT(strides(*Tensors(host(), c).abi()->q), ElementsAre(4 * 3 * 8, 3 * 8, 8, 1));
  c.layout = Layout::bshd;
  EXPECT_THAT(strides(*Tensors(host(), c).abi()->q), ElementsAre(3 * 4 * 8, 8, 4 * 8, 1));
  c.layout = Layout::sbhd;
  EXPECT_THAT(strides(*Tensors(host(), c).abi()->q), ElementsAre(4 * 8, 8, 2 * 4 * 8, 1));
}

TEST(Tensors, PackQueriesKeysAndValuesIntoOne) {
  Case c = small();
  c.layout = Layout::packed_qkv;
  Tensors tensors(host(), c);
  const attn_tensors& t = *tensors.abi();
  EXPECT_THAT(strides(*t.q), ElementsAre(3 * 8 * 8, 8, 8 * 8, 1));
  EXPECT_EQ(strides(*t.q), strides(*t.v));
  EXPECT_EQ(static_cast<float*>(t.k->data) - static_cast<float*>(t.q->data), 4 * 8);
  EXPECT_EQ(static_cast<float*>(t.v->data) - static_cast<float*>(t.q->data), 6 * 8);
}

TEST(Tensors, HaveTheStridesThatTheCaseNames) {
  Case c = small();
  c.strides = {StrideKind::transposed, StrideKind::expanded, StrideKind::sliced, StrideKind::dense};
  Tensors tensors(host(), c);
  const attn_tensors& t = *tensors.abi();
  EXPECT_THAT(strides(*t.q), ElementsAre(3 * 4 * 8, 8, 4 * 8, 1));
  EXPECT_EQ(t.k->strides[1], 0);
  EXPECT_EQ(t.v->strides[2], 8 + 16);
}

TEST(Tensors, BroadcastAMaskByStrideZero) {
  Case c = small();
  c.mask = MaskKind::tensor;
  c.mask_tensor.full = {true, false, false, true};
  Tensors tensors(host(), c);
  const DLTensor& mask = *tensors.abi()->mask;
  EXPECT_THAT(std::vector<std::int64_t>(mask.shape, mask.shape + 4), ElementsAre(2, 4, 3, 3));
  EXPECT_THAT(strides(mask), ElementsAre(3, 0, 0, 1));
}

TEST(Tensors, TellOfEveryWriteThatDoesNotBelong) {
  Case c = small();
  c.strides.o = StrideKind::sliced;
  Tensors tensors(host(), c);
  tensors.fill(1);
  const auto clean = [&] {
    tensors.poison_outputs(Pass::forward);
    EXPECT_EQ(tensors.damage(), std::nullopt);
    return tensors.abi();
  };
  const attn_tensors& t = *clean();
  auto* const o = static_cast<float*>(t.o->data);
  const std::int64_t rows = 2 * 4 * 3, pitch = t.o->strides[2];
  o[rows * pitch] = 1;
  EXPECT_THAT(*tensors.damage(), HasSubstr("wrote 4 bytes after the end of o (first at +0)"));
  clean();
  o[-2] = 1;
  EXPECT_THAT(*tensors.damage(), HasSubstr("before the start of o (first at -8)"));
  clean();
  o[5 * pitch + 8] = 1;
  EXPECT_THAT(*tensors.damage(), HasSubstr("gap between rows of o"));
  clean();
  static_cast<float*>(t.v->data)[0] += 1;
  EXPECT_EQ(*tensors.damage(), "wrote into its inputs");
  tensors.fill(1);
  clean();
}

TEST(Tensors, KeepTheirAddressesWhenRefilled) {
  Tensors tensors(host(), small());
  tensors.fill(1);
  const void* const data = tensors.abi()->q->data;
  const float before = tensors.q().load(0, 0, 0, 0);
  tensors.fill(2);
  EXPECT_EQ(tensors.abi()->q->data, data);
  EXPECT_NE(tensors.q().load(0, 0, 0, 0), before);
}

TEST(Tensors, HoldTheSameNumbersInEveryLayout) {
  Case c = small(), twin = small();
  twin.layout = Layout::sbhd;
  twin.strides.k = StrideKind::sliced;
  Tensors one(host(), c), other(host(), twin);
  one.fill(7);
  other.fill(7);
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t s = 0; s < 3; ++s)
      for (std::int64_t d = 0; d < 8; ++d) {
        EXPECT_EQ(one.q().load(b, 3, s, d), other.q().load(b, 3, s, d));
        EXPECT_EQ(one.k().load(b, 1, s, d), other.k().load(b, 1, s, d));
      }
}

TEST(Tensors, ReadAnOutputWhereABackendPutIt) {
  Tensors tensors(host(), small(), true), fixed(host(), small());
  tensors.poison_outputs(Pass::forward);
  std::vector<float> own(2 * 4 * 3 * 8, 2.5f);
  tensors.abi()->o->data = own.data();
  tensors.locate_outputs();
  EXPECT_EQ(tensors.o().load(1, 3, 2, 7), 2.5f);
  tensors.abi()->o->data = nullptr;
  EXPECT_THROW(tensors.locate_outputs(), Error);
  tensors.poison_outputs(Pass::forward);
  tensors.locate_outputs();
  EXPECT_TRUE(std::isnan(tensors.o().load(1, 3, 2, 7)));
  fixed.abi()->o->data = own.data();
  EXPECT_THAT([&] { fixed.locate_outputs(); }, testing::ThrowsMessage<Error>(testing::HasSubstr("moved o without the flag ATTN_FLAG_OWNS_OUTPUT")));
}

TEST(Tensors, ReadGradientsWhereABackendPutThemInItsStrides) {
  Case c = small();
  c.pass = Pass::forward_backward;
  Tensors tensors(host(), c, true);
  tensors.poison_outputs(Pass::forward_backward);
  std::vector<float> own(2 * 2 * 3 * 8);
  std::iota(own.begin(), own.end(), 0.0f);
  DLTensor* const dk = tensors.abi()->dk;
  dk->data = own.data();
  const std::int64_t strides[] = {48, 1, 2, 6};  // columns first, heads last
  std::copy_n(strides, 4, dk->strides);
  tensors.locate_outputs();
  EXPECT_EQ(tensors.dk().load(1, 1, 2, 7), 48 + 1 + 2 * 2 + 7 * 6);
  tensors.poison_outputs(Pass::backward);
  tensors.locate_outputs();
  EXPECT_TRUE(std::isnan(tensors.dk().load(1, 1, 2, 7)));
}

TEST(Tensors, ReadRaggedRowsInABackendsStrides) {
  Case c = small();
  c.layout = Layout::thd;
  c.lengths_q = {2, 3};
  c.lengths_kv = {3, 1};
  Tensors tensors(host(), c, true);
  tensors.poison_outputs(Pass::forward);
  std::vector<float> own(5 * 4 * 8);
  std::iota(own.begin(), own.end(), 0.0f);
  DLTensor* const o = tensors.abi()->o;
  o->data = own.data();
  const std::int64_t strides[] = {8, 40, 1};  // heads first
  std::copy_n(strides, 3, o->strides);
  tensors.locate_outputs();
  EXPECT_EQ(tensors.o().load(1, 3, 2, 7), 4 * 8 + 3 * 40 + 7);
  EXPECT_EQ(read_dense(host(), tensors.o()).view.load(1, 3, 2, 7), 4 * 8 + 3 * 40 + 7);
  EXPECT_FALSE(tensors.o().has_row(0, 2));
}

TEST(Tensors, RefuseWhatTheyCannotLayOut) {
  Case c = small();
  c.layout = Layout::thd;  // without lengths
  EXPECT_THROW(Tensors(host(), c), Error);
  c = small();
  c.pass = Pass::backward;
  c.page_size = 2;
  c.lengths_kv = {3, 3};
  EXPECT_THROW(Tensors(host(), c), Error);
}

TEST(Tensors, RaggedRowsFollowEachOther) {
  Case c = small();
  c.layout = Layout::thd;
  c.lengths_q = {3, 1};
  c.lengths_kv = {0, 2};
  Tensors tensors(host(), c);
  const attn_tensors& t = *tensors.abi();
  EXPECT_EQ(t.q->ndim, 3);
  EXPECT_THAT(std::vector<std::int64_t>(t.q->shape, t.q->shape + 3), ElementsAre(4, 4, 8));
  EXPECT_THAT(std::vector<std::int64_t>(t.k->shape, t.k->shape + 3), ElementsAre(2, 2, 8));
  const auto* const starts = static_cast<const std::int32_t*>(t.starts_q->data);
  EXPECT_THAT(std::vector<std::int32_t>(starts, starts + 3), ElementsAre(0, 3, 4));
  EXPECT_EQ(tensors.q().offset(1, 2, 0, 5), 3 * 4 * 8 + 2 * 8 + 5);
  EXPECT_TRUE(tensors.q().has_row(0, 2));
  EXPECT_FALSE(tensors.q().has_row(1, 1));
  EXPECT_FALSE(tensors.k().has_row(0, 0));
}

TEST(Tensors, PagesHoldTheKeysThatTheTableSays) {
  Case c = small();
  c.page_size = 2;
  c.page_order = PageOrder::shuffled;
  c.seq_kv = 5;
  c.lengths_kv = {5, 3};
  c.alignment = Alignment::bottom_right;
  Tensors tensors(host(), c);
  const attn_tensors& t = *tensors.abi();
  EXPECT_THAT(std::vector<std::int64_t>(t.k->shape, t.k->shape + 4), ElementsAre(6, 2, 2, 8));  // 3 + 2 pages, and nobody's
  EXPECT_THAT(std::vector<std::int64_t>(t.page_table->shape, t.page_table->shape + 2), ElementsAre(2, 3));
  const auto* const pages = static_cast<const std::int32_t*>(t.page_table->data);
  EXPECT_EQ(pages[5], 5) << "past the second sequence's pages: nobody's";
  std::vector<std::int32_t> used(pages, pages + 5);
  EXPECT_THAT(used, testing::UnorderedElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(used, testing::Not(ElementsAre(0, 1, 2, 3, 4)));
  EXPECT_EQ(tensors.k().offset(0, 1, 3, 4), ((pages[1] * 2 + 1) * 2 + 1) * 8 + 4);
  EXPECT_FALSE(tensors.k().has_row(1, 3));
}

TEST(MergeHeads, IsAViewWhereHeadsFollowEachOtherAndACopyElsewhere) {
  Case c = small();
  c.layout = Layout::bshd;
  Tensors bshd(host(), c);
  bshd.fill(1);
  OpRecorder recorder;
  MergeHeads merge(host(), c);
  EXPECT_EQ(merge(bshd.q(), &recorder).data, bshd.q().data);
  EXPECT_TRUE(recorder.take().empty());
  c.layout = Layout::bhsd;
  Tensors bhsd(host(), c);
  bhsd.fill(1);
  const TensorView merged = merge(bhsd.q(), &recorder);
  ASSERT_EQ(recorder.take().size(), 1u);
  EXPECT_EQ(merged.strides[1], 8);
  for (std::int64_t h = 0; h < 4; ++h) EXPECT_EQ(merged.load(1, h, 2, 5), bhsd.q().load(1, h, 2, 5));
}

TEST(MergeHeads, OfOneHeadOrOneFeatureIsAViewInAnyLayout) {
  for (const bool one_head : {true, false})
    for (const Layout layout : {Layout::bhsd, Layout::bshd, Layout::sbhd})
      for (const StrideKind kind : {StrideKind::dense, StrideKind::transposed, StrideKind::sliced}) {
        Case c = small();
        (one_head ? c.heads : c.head_dim) = 1;
        (one_head ? c.heads_kv : c.head_dim_v) = 1;
        c.layout = layout;
        c.strides.o = kind;
        c.then = Then::merge_heads;
        EXPECT_EQ(MergeHeads::bytes_needed(c), 0) << one_head;
        Tensors tensors(host(), c);
        OpRecorder recorder;
        MergeHeads merge(host(), c);
        EXPECT_EQ(merge(tensors.o(), &recorder).data, tensors.o().data);
        EXPECT_TRUE(recorder.take().empty()) << one_head;
      }
}

}  // namespace
}  // namespace attn
