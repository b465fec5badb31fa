#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "base/json.hpp"
#include "sample.hpp"
#include "store/baseline_difference.hpp"
#include "store/baseline_files.hpp"
#include "store/baseline_json.hpp"

namespace attn {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<Baseline> three() { return {test::sample_baseline(2), test::sample_baseline(0), test::sample_baseline(1)}; }

TEST(BaselineFiles, GiveBackWhatWasSaved) {
  test::Folder folder;
  const BaselineStore store(folder.path());
  store.update(three());
  const SuiteBaselines loaded = store.load("llama");
  ASSERT_THAT(loaded.rows(), SizeIs(3));
  for (std::int64_t i = 0; i < 3; ++i) {
    Baseline expected = test::sample_baseline(i);
    expected.kernels[0].device_ns = 1500;  // 1500.5 to 4 digits
    EXPECT_EQ(dump_line(to_json(loaded.rows()[static_cast<std::size_t>(i)])), dump_line(to_json(expected)));
  }
}

TEST(BaselineFiles, AreValidJsonWithOneSortedLineARow) {
  test::Folder folder;
  const BaselineStore store(folder.path());
  store.update(three());
  const std::string text = test::read_text(store.file_of("cpu.sample.2t", "llama"));
  EXPECT_TRUE(Json::accept(text));
  EXPECT_EQ(text.back(), '\n');
  const auto lines = lines_of(text);
  ASSERT_THAT(lines, SizeIs(6));  // header, "rows", three rows, end
  EXPECT_THAT(lines[0], HasSubstr("\"schema\":1"));
  EXPECT_TRUE(std::is_sorted(lines.begin() + 2, lines.end() - 1));
  EXPECT_THAT(lines[2], HasSubstr("\"case_id\":\"case-0:"));
  EXPECT_THAT(lines[2], HasSubstr("\"kernels\":\"5..6\",\"copies\":0"));
  EXPECT_THAT(lines[2], testing::Not(HasSubstr("copy_bytes")));  // unknown is left out
}

TEST(BaselineFiles, AreTheSameWhateverTheOrderOfTheRows) {
  test::Folder one, two;
  BaselineStore(one.path()).update(three());
  for (const Baseline& row : three()) BaselineStore(two.path()).update({row});
  EXPECT_EQ(test::read_text(one / "cpu.sample.2t/llama.json"), test::read_text(two / "cpu.sample.2t/llama.json"));
}

TEST(BaselineFiles, ChangeExactlyOneLineWhenOneRowIsPromoted) {
  test::Folder folder;
  const BaselineStore store(folder.path());
  store.update(three(), {test::sample_environment()});
  const auto before = lines_of(test::read_text(store.file_of("cpu.sample.2t", "llama")));
  Baseline promoted = test::sample_baseline(1);
  promoted.counts.copies = CountRange{2, 2};
  promoted.libraries["blas"].version = "0.4";
  const BaselineUpdate update = store.update({promoted}, {test::sample_environment()});
  const auto after = lines_of(test::read_text(store.file_of("cpu.sample.2t", "llama")));
  ASSERT_EQ(before.size(), after.size());
  std::vector<std::size_t> different;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (before[i] != after[i]) different.push_back(i);
  EXPECT_THAT(different, ElementsAre(3));
  EXPECT_EQ(update.changed, 1);
  EXPECT_EQ(update.added + update.unchanged, 0);
  EXPECT_THAT(update.written, SizeIs(1));
}

TEST(BaselineFiles, AreNotWrittenWhenNothingChanged) {
  test::Folder folder;
  const BaselineStore store(folder.path());
  store.update(three());
  const BaselineUpdate again = store.update(three());
  EXPECT_THAT(again.written, IsEmpty());
  EXPECT_EQ(again.unchanged, 3);
  EXPECT_THAT(again.lines, IsEmpty());
}

TEST(BaselineFiles, RoundSoThatSavingAgainChangesNothing) {
  Baseline row = test::sample_baseline();
  row.device_ns = {1234567.891, 0.000123456789, 31.23456};
  const std::string line = print_baseline(row);
  EXPECT_THAT(line, HasSubstr("\"device_ns\":[1235000,0.0001235,31.23]"));
  BaselineFile file{"llama", DeviceType::cpu, "cpu.x86_64", "cpu.sample.2t", "", {row}};
  const std::string once = print_baselines(file);
  EXPECT_EQ(print_baselines(parse_baselines(once, "f")), once);
}

TEST(BaselineFiles, LeaveNoTemporaryFileBehind) {
  test::Folder folder;
  BaselineStore(folder.path()).update(three());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "cpu.sample.2t"), {}), 1);
}

TEST(BaselineFiles, CarryHostileNamesAsText) {
  test::Folder folder;
  const BaselineStore store(folder.path());
  Baseline row = test::sample_baseline();
  row.kernels[0].name = "evil\n\"},{\"case_id\":\"x\x1b[31m\\";
  store.update({row});
  const SuiteBaselines loaded = store.load("llama");
  ASSERT_THAT(loaded.rows(), SizeIs(1));
  EXPECT_EQ(loaded.rows()[0].kernels[0].name, row.kernels[0].name);
  EXPECT_THAT(lines_of(test::read_text(store.file_of("cpu.sample.2t", "llama"))), SizeIs(4));
}

TEST(BaselineFiles, RefuseNamesThatLeadElsewhere) {
  test::Folder folder;
  const BaselineStore store(folder.path());
  for (const char* name : {"", "..", "../x", "a/b", ".hidden", "-rf", "a b", "a\nb"}) {
    Baseline row = test::sample_baseline();
    row.suite = name;
    EXPECT_THROW(store.update({row}), Error) << name;
    row = test::sample_baseline();
    row.platform = name;
    EXPECT_THROW(store.update({row}), Error) << name;
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(BaselineFiles, FindCountsByArchAndTimesByPlatform) {
  test::Folder folder;
  const BaselineStore store(folder.path());
  Baseline a = test::sample_baseline(), b = a, other_arch = a;
  a.platform = "cpu.a", a.commit_id = "a";
  b.platform = "cpu.b", b.commit_id = "b";
  other_arch.platform = "cpu.0", other_arch.arch = "cpu.arm", other_arch.commit_id = "arm";
  store.update({b, a, other_arch});
  const SuiteBaselines found = store.load("llama");
  const auto counts = [&](const std::string& platform, const std::string& arch) {
    const Baseline* row = found.find_counts(a.case_id, "naive", DeviceType::cpu, arch, platform);
    return row ? row->commit_id : "none";
  };
  EXPECT_EQ(counts("cpu.b", "cpu.x86_64"), "b");        // its own first
  EXPECT_EQ(counts("cpu.new", "cpu.x86_64"), "a");      // then the first of the arch
  EXPECT_EQ(counts("cpu.new", "cpu.riscv"), "none");
  EXPECT_EQ(found.find_counts(a.case_id, "naive", DeviceType::cuda, "cpu.x86_64", "cpu.b"), nullptr);
  ASSERT_NE(found.find_times(a.case_id, "naive", DeviceType::cpu, "cpu.b"), nullptr);
  EXPECT_EQ(found.find_times(a.case_id, "naive", DeviceType::cpu, "cpu.b")->commit_id, "b");
  EXPECT_EQ(found.find_times(a.case_id, "naive", DeviceType::cpu, "cpu.new"), nullptr);
  EXPECT_EQ(found.find_times(a.case_id, "flash", DeviceType::cpu, "cpu.b"), nullptr);
}

TEST(BaselineFiles, AreEmptyWhereThereIsNoFolder) {
  test::Folder folder;
  const BaselineStore store(folder / "none");
  EXPECT_THAT(store.load("llama").rows(), IsEmpty());
  EXPECT_THAT(store.suites(), IsEmpty());
  store.update(three());
  EXPECT_THAT(store.suites(), ElementsAre("llama"));
}

TEST(BaselineFiles, NameTheLineOfWhatIsWrong) {
  test::Folder folder;
  const BaselineStore store(folder.path());
  store.update(three());
  const auto path = store.file_of("cpu.sample.2t", "llama");
  const std::string good = test::read_text(path);
  const auto message = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    test::write_text(path, text);
    return error_of([&] { store.load("llama"); });
  };
  const std::string file = path.string();
  EXPECT_THAT(message("\"schema\":1", "\"schema\":2"), HasSubstr(file + ":1:1: baselines of schema 2; this program knows schema 1"));
  EXPECT_THAT(message("{\"case_id\":\"case-1", "<<<<<<< ours\n{\"case_id\":\"case-1"), HasSubstr(file + ":4:1: not JSON"));
  EXPECT_THAT(message("case-1:", "case-0:"), HasSubstr(file + ":4:1: case-0:"));
  EXPECT_THAT(message("case-1:", "case-0:"), HasSubstr("has a row already, in line 3"));
  EXPECT_THAT(message("\"kernel_path\":\"naive\"", "\"kernel_path\":\"fast\""), HasSubstr(file + ":3: row.kernel_path: found \"fast\""));
  EXPECT_THAT(message("\"5..6\"", "\"6..5\""), HasSubstr(file + ":3: counts.kernels: found \"6..5\""));
  EXPECT_THAT(message("{\"case_id\":\"case-1", "17,{\"case_id\":\"case-1"), HasSubstr("expected a row in braces"));
  EXPECT_THAT(message("\"suite\":\"llama\"", "\"suite\":\"qwen\""), HasSubstr("holds the baselines of suite \"qwen\""));
  test::write_text(path, good.substr(0, good.size() / 2));
  EXPECT_THAT(error_of([&] { store.load("llama"); }), HasSubstr("not JSON"));
  test::write_text(path, "");
  EXPECT_THAT(error_of([&] { store.load("llama"); }), HasSubstr(file + ":1:1: not JSON"));
  test::write_text(path, good);
  EXPECT_EQ(error_of([&] { store.load("llama"); }), "no error");
}

TEST(BaselineFiles, AreReadWhenATextToolReformattedThem) {
  test::Folder folder;
  const BaselineStore store(folder.path());
  store.update(three());
  const auto path = store.file_of("cpu.sample.2t", "llama");
  const std::string good = test::read_text(path);
  test::write_text(path, Json::parse(good).dump(2));
  EXPECT_THAT(store.load("llama").rows(), SizeIs(3));
  store.update({test::sample_baseline(0)});
  EXPECT_EQ(test::read_text(path), good);
}

TEST(BaselineFiles, StayWhenAnUpdateFails) {
  test::Folder folder;
  const BaselineStore store(folder.path());
  store.update(three());
  const std::string before = test::read_text(store.file_of("cpu.sample.2t", "llama"));
  Baseline first = test::sample_baseline(7), wrong = test::sample_baseline(8);
  wrong.arch = "cpu.arm";
  EXPECT_THAT(error_of([&] { store.update({first, wrong}); }), HasSubstr("was measured on cpu cpu.arm"));
  EXPECT_EQ(test::read_text(store.file_of("cpu.sample.2t", "llama")), before);
}

TEST(BaselineDifference, SaysWhatChangedInOneLine) {
  Baseline before = test::sample_baseline();
  before.counts.copies = CountRange{1, 1};
  before.device_ns = {1.3e6, 1.2e6, 1.23e6};
  Baseline after = before;
  after.counts.copies = CountRange{2, 2};
  after.device_ns = {2.46e6};
  EXPECT_THAT(difference(before, after), ElementsAre(before.case_id + " naive: copies 1 -> 2, device_ns 1.23 ms -> 2.46 ms (2.00x)"));
}

TEST(BaselineDifference, IsSilentAboutNoiseAndDates) {
  const Baseline before = test::sample_baseline();
  Baseline after = before;
  after.recorded_at = "2027-01-01T00:00:00Z";
  for (double& ns : after.device_ns) ns *= 1.004;
  EXPECT_THAT(difference(before, after), IsEmpty());
}

TEST(BaselineDifference, ListsKernelsAndLibraries) {
  const Baseline before = test::sample_baseline();
  Baseline after = before;
  after.kernels[0].count = {9, 9};
  after.kernels[1].bytes = 8192;
  after.libraries["blas"].version = "0.4";
  after.switches["OMP_NUM_THREADS"] = "4";
  after.kernel_path.reset();
  EXPECT_THAT(difference(before, after),
              ElementsAre(before.case_id + " naive: kernel_path naive -> unknown", "    ~ kernel cpu_gemm<'\"\\> x5..6 -> x9", "    - memcpy DtoD 4096 B x1",
                          "    + memcpy DtoD 8192 B x1", "    blas 0.3.21 -> 0.4", "    OMP_NUM_THREADS 2 -> 4"));
}

TEST(BaselineDifference, DoesNotCompareTwoInstruments) {
  const Baseline before = test::sample_baseline();
  Baseline after = before;
  after.instrument = Instrument::clock;
  after.device_ns = {9000};
  EXPECT_THAT(difference(before, after), ElementsAre(before.case_id + " naive: instrument reported -> clock, device_ns now 9.00 us"));
}

TEST(ReadableNs, KeepsThreeDigits) {
  EXPECT_EQ(readable_ns(512), "512 ns");
  EXPECT_EQ(readable_ns(999.6), "1.00 us");
  EXPECT_EQ(readable_ns(31234.5), "31.2 us");
  EXPECT_EQ(readable_ns(999900), "1.00 ms");
  EXPECT_EQ(readable_ns(2.5e9), "2.50 s");
}

}  // namespace
}  // namespace attn
