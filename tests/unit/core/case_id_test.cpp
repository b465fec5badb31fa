#include <gmock/gmock.h>

#include <functional>
#include <random>
#include <set>

#include "base/error.hpp"
#include "core/case.hpp"

namespace attn {
namespace {

Case llama() {
  Case c;
  c.name = "llama3-8b/prefill";
  c.dtype = c.dtype_kv = DType::bf16;
  c.batch = 4;
  c.heads = 32;
  c.heads_kv = 8;
  c.seq_q = c.seq_kv = 4096;
  c.head_dim = c.head_dim_v = 128;
  c.mask = MaskKind::causal;
  c.layout = Layout::bshd;
  return c;
}

// A random value of every field; most of them are impossible problems, which an id must carry all the same.
Case random_case(std::mt19937_64& random) {
  const auto number = [&](std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(random); };
  const auto one_of = [&]<class Enum>(Enum) { return static_cast<Enum>(number(0, static_cast<std::int64_t>(Words<Enum>::list.size()) - 1)); };
  const auto rarely = [&] { return number(0, 3) == 0; };
  const auto real = [&] { return std::uniform_real_distribution<double>(-3, 3)(random); };
  Case c;
  c.name = "n" + std::to_string(number(0, 99)) + "/x.y-z";
  c.batch = number(1, 70000);
  c.heads = number(1, 70000);
  c.heads_kv = rarely() ? c.heads : number(1, 99);
  c.seq_q = number(1, 1 << 20);
  c.seq_kv = rarely() ? c.seq_q : number(1, 1 << 20);
  c.head_dim = number(1, 512);
  c.head_dim_v = rarely() ? number(1, 512) : c.head_dim;
  c.dtype = one_of(DType{});
  c.dtype_kv = rarely() ? one_of(DType{}) : c.dtype;
  c.layout = one_of(Layout{});
  if (rarely()) c.strides = {one_of(StrideKind{}), one_of(StrideKind{}), one_of(StrideKind{}), one_of(StrideKind{})};
  c.mask = one_of(MaskKind{});
  if (c.mask == MaskKind::tensor) c.mask_tensor = {one_of(MaskPattern{}), {rarely(), rarely(), !rarely(), !rarely()}, one_of(MaskDType{}), one_of(MaskFill{})};
  if (rarely()) c.alignment = one_of(Alignment{});
  if (rarely()) c.window_left = number(-1, 9000);
  if (rarely()) c.window_right = number(-1, 9000);
  if (rarely()) c.softcap = real();
  if (rarely()) c.scale = real();
  if (rarely()) c.alibi = rarely() ? std::vector<double>{} : std::vector<double>{real(), 0.5, 0.25};
  if (rarely()) c.lengths_q = {number(0, 99), 0, number(0, 99)};
  if (rarely()) c.lengths_kv = {number(0, 99)};
  if (rarely()) c.page_size = number(1, 512);
  c.page_order = one_of(PageOrder{});
  c.dead_rows = one_of(DeadRows{});
  c.pass = one_of(Pass{});
  c.grad_layout = one_of(GradLayout{});
  c.deterministic = rarely();
  if (rarely()) c.dropout = 0.1;
  c.then = one_of(Then{});
  c.inputs = one_of(Inputs{});
  c.cache = one_of(Cache{});
  return c;
}

TEST(CaseId, IsTheOneOfTheContract) { EXPECT_EQ(case_id(llama()), "llama3-8b/prefill:bf16/b4/h32.8/q4096.k4096/d128/causal/bshd"); }

TEST(CaseId, LeavesDefaultsOut) {
  Case c;
  c.name = "x";
  EXPECT_EQ(case_id(c), "x:fp32/b1/h1/q1.k1/d64");
}

TEST(CaseId, RoundTripsForRandomCases) {
  std::mt19937_64 random(20260101);
  std::set<std::string> ids;
  std::vector<Case> cases;
  for (int i = 0; i < 20000; ++i) {
    const Case c = random_case(random);
    const std::string id = case_id(c);
    const Case again = parse_case_id(id);
    ASSERT_TRUE(again == c) << id << "\n" << case_id(again);
    if (!ids.insert(id).second) {
      ASSERT_NE(std::find(cases.begin(), cases.end(), c), cases.end()) << "two cases, one id: " << id;
    }
    cases.push_back(c);
  }
}

// Of every field that two cases may differ in. A field that is added fails to compile here until it is added to the list and to random_case.
TEST(CaseId, EveryFieldChangesTheId) {
  [[maybe_unused]] const auto& [name, batch, heads, heads_kv, seq_q, seq_kv, head_dim, head_dim_v, dtype, dtype_kv, layout, strides, mask, mask_tensor, alignment, window_left,
               window_right, softcap, scale, alibi, lengths_q, lengths_kv, page_size, page_order, dead_rows, pass, grad_layout, deterministic, dropout, then, inputs,
               cache] = llama();
  const std::vector<std::function<void(Case&)>> changes{
      [](Case& c) { c.name = "other"; },           [](Case& c) { c.batch = 5; },                 [](Case& c) { c.heads = 64; },
      [](Case& c) { c.heads_kv = 4; },             [](Case& c) { c.seq_q = 1; },                 [](Case& c) { c.seq_kv = 1; },
      [](Case& c) { c.head_dim = 64; },            [](Case& c) { c.head_dim_v = 64; },           [](Case& c) { c.dtype = DType::fp32; },
      [](Case& c) { c.dtype_kv = DType::fp32; },   [](Case& c) { c.layout = Layout::sbhd; },     [](Case& c) { c.strides.v = StrideKind::sliced; },
      [](Case& c) { c.mask = MaskKind::none; },    [](Case& c) { c.mask = MaskKind::tensor; },   [](Case& c) { c.alignment = Alignment::top_left; },
      [](Case& c) { c.window_left = 0; },          [](Case& c) { c.window_right = 0; },          [](Case& c) { c.softcap = 1e-300; },
      [](Case& c) { c.scale = 0; },                [](Case& c) { c.alibi.emplace(); },           [](Case& c) { c.lengths_q = {0}; },
      [](Case& c) { c.lengths_kv = {0}; },         [](Case& c) { c.page_size = 1; },             [](Case& c) { c.page_order = PageOrder::shuffled; },
      [](Case& c) { c.dead_rows = DeadRows::nan; }, [](Case& c) { c.pass = Pass::backward; },    [](Case& c) { c.grad_layout = GradLayout::expanded; },
      [](Case& c) { c.deterministic = true; },     [](Case& c) { c.dropout = 0.5; },             [](Case& c) { c.then = Then::merge_heads; },
      [](Case& c) { c.inputs = Inputs::ramp; },    [](Case& c) { c.cache = Cache::warm; }};
  std::set<std::string> ids{case_id(llama())};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Case c = llama();
    changes[i](c);
    EXPECT_TRUE(ids.insert(case_id(c)).second) << "change " << i << " leaves the id " << case_id(c);
    EXPECT_TRUE(parse_case_id(case_id(c)) == c) << case_id(c);
  }
}

TEST(CaseId, RefusesWhatIsNotCanonical) {
  for (const char* text : {"", "x", "x:", "x:bf16", "x:bf17/b1/h1/q1.k1/d64", "x:bf16/b1/h1/q1/d64", "x:bf16/b1/h1.1/q1.k1/d64", "x:bf16/b01/h1/q1.k1/d64",
                           "x:bf16/b1/h1/q1.k1/d64/bhsd", "x:bf16/b1/h1/q1.k1/d64/bshd/causal", "x:bf16/b1/h1/q1.k1/d64/softcap=0", "x:bf16/b1/h1/q1.k1/d64/causal/causal",
                           "x:bf16/b1/h1/q1.k1/d64/nonsense=1", "x:bf16/b1/h1/q1.k1/d64/layout=bshd", "x:bf16/b1/h1/q1.k1/d64/causal=", "x:bf16/b1/h1/q1.k1/d64/scale=0.50",
                           "x:bf16/b1/h1/q1.k99999999999999999999/d64"})
    EXPECT_THROW(parse_case_id(text), Error) << text;
}

}  // namespace
}  // namespace attn
