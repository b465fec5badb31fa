#include "run/installation.hpp"

#include <gmock/gmock.h>

namespace attn {
namespace {

TEST(LoadedAnew, IsSaidInALineOfTheWorkersOwn) {
  EXPECT_EQ(loaded_anew_line("warning: old\nattn-regress: 2 threads live after the imports: every block of calls starts the interpreter anew\nmore\n"),
            "2 threads live after the imports: every block of calls starts the interpreter anew");
  EXPECT_EQ(loaded_anew_line(""), "");
  EXPECT_EQ(loaded_anew_line("attn-regress: something else\nthe file starts the interpreter anew\n"), "");
}

}  // namespace
}  // namespace attn
