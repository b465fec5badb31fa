#include "gpu/taken_memory.hpp"

#include <gmock/gmock.h>

namespace attn {
namespace {

Recording recording_of(std::vector<MemoryRecord> memory) {
  Recording recording;
  recording.memory = std::move(memory);
  recording.dropped = 0;
  return recording;
}

TEST(TakenMemory, PeakIsTheMostThatWasHeldAtOnce) {
  EXPECT_EQ(peak_taken_bytes(recording_of({})), 0);
  EXPECT_EQ(peak_taken_bytes(recording_of({{true, 1, 100, 10}, {true, 2, 50, 11}, {false, 1, 0, 12}, {true, 3, 60, 13}})), 150);
  EXPECT_EQ(peak_taken_bytes(recording_of({{true, 1, 100, 10}, {false, 1, 100, 11}, {true, 1, 100, 12}})), 100) << "an address that is used again";
}

TEST(TakenMemory, GivingBackWhatWasThereBeforeCountsForNothing) {
  EXPECT_EQ(peak_taken_bytes(recording_of({{false, 7, 500, 10}, {true, 1, 100, 11}})), 100);
}

TEST(TakenMemory, OfARecordingThatIsNotWholeIsNotKnown) {
  Recording dropped = recording_of({{true, 1, 100, 10}});
  dropped.dropped = 1;
  EXPECT_EQ(peak_taken_bytes(dropped), std::nullopt);
  dropped.dropped.reset();
  EXPECT_EQ(peak_taken_bytes(dropped), std::nullopt) << "CUPTI cannot say";
  Recording unreadable = recording_of({});
  unreadable.faults = {"a record of a version that is not known"};
  EXPECT_EQ(peak_taken_bytes(unreadable), std::nullopt);
}

}  // namespace
}  // namespace attn
