// The recipes that make small mistakes large enough for bf16: a softcap that bends, and keys at both ends that carry half of the weight.

#include <gmock/gmock.h>

#include "problem.hpp"

namespace attn {
namespace {

TEST(EdgeInputs, ASoftcapOf20To50IsMissedInBf16) {
  for (const double cap : {20.0, 30.0, 50.0})
    for (const std::int64_t head_dim : {64, 256})
      for (const double scale : {0.0625, 1.0, -0.125}) {
        Problem p(with(shaped(1, 2, 1, 8, 300, head_dim, DType::bf16), [&](Case& c) {
          c.softcap = cap;
          c.scale = scale;
          c.inputs = Inputs::large_logits;
        }));
        EXPECT_EQ(p.check(p.right_rows()).status, Status::ok);
        Reading ignored = p.right();
        ignored.value.softcap = 0;
        const NumericsResult result = p.check(reference(ignored, p.operands, p.all_rows()));
        EXPECT_EQ(result.status, Status::wrong) << cap << " " << head_dim << " " << scale;
        EXPECT_EQ(result.numerics.diagnosis, "equals the reference with softcap ignored") << cap << " " << head_dim << " " << scale;
      }
}

TEST(EdgeInputs, OneKeyOf16384LeftOutAtEitherEndIsFoundInBf16) {
  for (const Inputs inputs : {Inputs::heavy_edges, Inputs::normal}) {
    Problem p(with(shaped(1, 1, 1, 1, 16384, 64, DType::bf16), [&](Case& c) {
      c.alignment = Alignment::bottom_right;
      c.inputs = inputs;
    }));
    EXPECT_EQ(p.check(p.right_rows()).status, Status::ok);
    Reading without_first = p.right(), without_last = p.right();
    without_first.value.window_left = 16382;
    without_last.value.lengths_kv = {16383};
    // The control: with normal inputs one key of so many is less than bf16 tells apart.
    const Status status = inputs == Inputs::heavy_edges ? Status::wrong : Status::ok;
    EXPECT_EQ(p.check(reference(without_first, p.operands, p.all_rows())).status, status) << word(inputs);
    EXPECT_EQ(p.check(reference(without_last, p.operands, p.all_rows())).status, status) << word(inputs);
  }
}

}  // namespace
}  // namespace attn
