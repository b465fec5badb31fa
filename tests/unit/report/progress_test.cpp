#include "report/progress.hpp"

#include <gmock/gmock.h>

#include <memory>

#include "base/handle.hpp"
#include "report/printable.hpp"
#include "sample.hpp"

namespace attn {
namespace {

using testing::HasSubstr;
using testing::Not;

class ProgressTest : public testing::Test {
 protected:
  ProgressOptions options(bool rewrite) {
    ProgressOptions options;
    options.rewrite = rewrite;
    options.columns = 60;
    options.now = [this] { return std::chrono::steady_clock::time_point(std::chrono::seconds(seconds_)); };
    return options;
  }
  std::string written() {
    std::fflush(file_.get());
    std::string text(static_cast<std::size_t>(std::ftell(file_.get())), '\0');
    std::rewind(file_.get());
    EXPECT_EQ(std::fread(text.data(), 1, text.size(), file_.get()), text.size());
    return text;
  }
  std::vector<Trial> trials() {
    std::vector<Trial> trials;
    for (std::int64_t i = 0; i < 3; ++i) {
      trials.push_back(sample::row("naive", Outcome::pass).trial);
      trials.back().index = i;
    }
    return trials;
  }
  Measurement measurement_ = sample::row("naive", Outcome::pass).measurement;
  int seconds_ = 100;
  Handle<std::FILE*, std::fclose> file_{std::tmpfile()};
};

TEST_F(ProgressTest, WritesPlainLinesWithTheTimeThatIsLeft) {
  Progress progress(file_.get(), options(false));
  progress.planned(trials());
  progress.trial_started(trials()[0], Phase::bare);
  seconds_ += 10;
  progress.trial_measured(trials()[0], measurement_, {});
  EXPECT_EQ(written(), std::string("[1/3] naive ") + sample::kPrefill + ": ok 3.20 ms (10s elapsed, about 20s left)\n");
}

TEST_F(ProgressTest, SaysNothingTwiceOfATrialThatIsMeasuredAgain) {
  Progress progress(file_.get(), options(false));
  progress.planned(trials());
  progress.trial_measured(trials()[0], measurement_, {});
  progress.trial_measured(trials()[0], measurement_, {});
  const std::string text = written();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST_F(ProgressTest, WritesAReasonOnceWhereOneRowAfterAnotherHasIt) {
  Progress progress(file_.get(), options(false));
  progress.planned(trials());
  for (const auto& [i, reason] : {std::pair{0, "no GPU"}, {1, "no GPU"}, {2, "too large"}}) {
    measurement_.reason = reason;
    progress.trial_measured(trials()[static_cast<std::size_t>(i)], measurement_, {});
  }
  EXPECT_THAT(written(), testing::ContainsRegex("no GPU .*\n.*, as above .*\n.*, too large .*\n"));
}

TEST_F(ProgressTest, WritesOneLineForABlockThatIsMeasuredAgain) {
  Progress progress(file_.get(), options(false));
  progress.planned(trials());
  for (const std::size_t block : {1, 2})
    for (const Trial& trial : trials()) progress.remeasuring(trial, block);
  EXPECT_EQ(written(), "measuring again, block 2 (0s elapsed)\nmeasuring again, block 3 (0s elapsed)\n");
}

TEST_F(ProgressTest, RewritesOneLineThatFitsTheTerminal) {
  Progress progress(file_.get(), options(true));
  progress.planned(trials());
  progress.trial_started(trials()[0], Phase::device_time);
  std::string text = written();
  ASSERT_THAT(text, testing::StartsWith("\r\x1b[K[1/3] naive llama"));
  EXPECT_THAT(text, testing::EndsWith("  device_time  0s"));
  EXPECT_LT(columns_of(text.substr(4)), 60u);
  progress.finished({});
  EXPECT_THAT(written(), testing::EndsWith("\r\x1b[K"));
}

TEST_F(ProgressTest, NeutralisesWhatABackendSays) {
  Progress progress(file_.get(), options(false));
  progress.planned(trials());
  measurement_.status = Status::failed;
  measurement_.reason = "no\x1b[2J\nway";
  progress.trial_measured(trials()[0], measurement_, {});
  const std::string text = written();
  EXPECT_THAT(text, HasSubstr("failed"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

}  // namespace
}  // namespace attn
