#include "store/baseline_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <tuple>

#include "base/child_process.hpp"
#include "base/error.hpp"
#include "store/baseline_difference.hpp"
#include "store/baseline_json.hpp"
#include "store/median.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

// Names come from suite files and from what a driver calls its device: they must not lead out of the folder.
void check_name(const char* what, const std::string& name) {
  const auto good = [](unsigned char c) { return std::isalnum(c) || std::strchr("._+-", c); };
  const bool safe = !name.empty() && name.size() <= 100 && name[0] != '.' && name[0] != '-' && std::all_of(name.begin(), name.end(), good);
  if (!safe)
    throw Error(fmt::format("the {} \"{}\" cannot name a file: allowed are up to 100 letters, digits and . _ + -, not beginning with . or -", what, name));
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (!in) throw Error(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  return text;
}

void sync(const fs::path& path, int flags) {
  const Descriptor descriptor(::open(path.c_str(), flags | O_CLOEXEC));
  if (!descriptor || fsync(descriptor.get()) != 0)
    throw Error(fmt::format("{}: cannot be written to disk: {}", path.string(), std::strerror(errno)));
}

// The old file or the new one, never half of it: a temporary file in the same folder takes the name at the end.
void write_file(const fs::path& path, const std::string& text) {
  const fs::path temporary = path.string() + fmt::format(".{}.tmp", getpid());
  const auto failed = [&](const char* doing) {
    const std::string why = std::strerror(errno);
    std::error_code ignored;
    fs::remove(temporary, ignored);
    return Error(fmt::format("{}: cannot be {}: {}", path.string(), doing, why));
  };
  {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    out << text;
    if (!out.flush()) throw failed("written");
  }
  sync(temporary, O_WRONLY);
  if (std::rename(temporary.c_str(), path.c_str()) != 0) throw failed("replaced");
  sync(path.parent_path(), O_RDONLY | O_DIRECTORY);
}

auto key(const Baseline& row) { return std::tie(row.case_id, row.backend); }

BaselineFile read_baselines(const fs::path& path, const std::string& platform, const std::string& suite) {
  BaselineFile file = parse_baselines(read_file(path), path.string());
  if (file.platform != platform || file.suite != suite)
    throw Error(Place{path.string(), 1, 1},
                fmt::format("holds the baselines of suite \"{}\" on \"{}\", but lies where those of \"{}\" on \"{}\" belong", file.suite, file.platform, suite,
                            platform));
  return file;
}

std::string describe(const Environment& environment) {
  return environment.device == DeviceType::cpu ? fmt::format("{}, {} threads", environment.device_name, environment.threads) : environment.device_name;
}

std::string describe(const Baseline& row) {
  std::vector<std::string> parts;
  if (row.status != Status::ok) parts.push_back(std::string(word(row.status)));
  if (row.kernel_path) parts.push_back("kernel_path " + std::string(word(*row.kernel_path)));
  if (row.counts.kernels) parts.push_back("kernels " + to_string(*row.counts.kernels));
  if (row.counts.copies) parts.push_back("copies " + to_string(*row.counts.copies));
  if (const auto ns = median(row.device_ns)) parts.push_back("device_ns " + readable_ns(*ns));
  return fmt::format("{} {}: new: {}", row.case_id, row.backend, parts.empty() ? "ok" : fmt::format("{}", fmt::join(parts, ", ")));
}

// Puts `row` into `file` and notes what that changed.
void merge_row(const Baseline& row, BaselineFile& file, BaselineUpdate& update) {
  const auto old = std::find_if(file.rows.begin(), file.rows.end(), [&](const Baseline& each) { return key(each) == key(row); });
  if (old == file.rows.end()) {
    ++update.added;
    update.lines.push_back(describe(row));
    file.rows.push_back(row);
    return;
  }
  if (print_baseline(*old) == print_baseline(row)) {
    ++update.unchanged;
    return;
  }
  ++update.changed;
  for (const std::string& line : difference(*old, row)) update.lines.push_back(line);
  *old = row;
}

}  // namespace

SuiteBaselines::SuiteBaselines(std::vector<Baseline> rows) : rows_(std::move(rows)) {
  const auto order = [](const Baseline& a, const Baseline& b) {
    return std::tie(a.case_id, a.backend, a.device, a.platform) < std::tie(b.case_id, b.backend, b.device, b.platform);
  };
  std::sort(rows_.begin(), rows_.end(), order);
}

const Baseline* SuiteBaselines::find_counts(const std::string& case_id, const std::string& backend, DeviceType device, const std::string& arch,
                                            const std::string& platform) const {
  if (const Baseline* own = find_times(case_id, backend, device, platform); own && own->arch == arch) return own;
  for (const Baseline& row : rows_)
    if (row.case_id == case_id && row.backend == backend && row.device == device && row.arch == arch) return &row;
  return nullptr;
}

const Baseline* SuiteBaselines::find_times(const std::string& case_id, const std::string& backend, DeviceType device, const std::string& platform) const {
  const auto wanted = std::tie(case_id, backend, device, platform);
  const auto before = [](const Baseline& row, const auto& key_wanted) { return std::tie(row.case_id, row.backend, row.device, row.platform) < key_wanted; };
  const auto found = std::lower_bound(rows_.begin(), rows_.end(), wanted, before);
  if (found == rows_.end() || std::tie(found->case_id, found->backend, found->device, found->platform) != wanted) return nullptr;
  return &*found;
}

fs::path BaselineStore::file_of(const std::string& platform, const std::string& suite) const {
  check_name("platform", platform);
  check_name("suite", suite);
  return directory_ / platform / (suite + ".json");
}

SuiteBaselines BaselineStore::load(const std::string& suite) const {
  check_name("suite", suite);
  std::vector<Baseline> rows;
  if (fs::exists(directory_) && !fs::is_directory(directory_))
    throw Error(fmt::format("{}: found a file, expected the folder of the baselines", directory_.string()));
  if (fs::exists(directory_))
    for (const fs::directory_entry& platform : fs::directory_iterator(directory_)) {
      const fs::path path = platform.path() / (suite + ".json");
      if (!platform.is_directory() || !fs::exists(path)) continue;
      BaselineFile file = read_baselines(path, platform.path().filename().string(), suite);
      std::move(file.rows.begin(), file.rows.end(), std::back_inserter(rows));
    }
  return SuiteBaselines(std::move(rows));
}

std::vector<std::string> BaselineStore::suites() const {
  std::set<std::string> names;
  if (fs::is_directory(directory_))
    for (const fs::directory_entry& platform : fs::directory_iterator(directory_))
      if (platform.is_directory())
        for (const fs::directory_entry& file : fs::directory_iterator(platform.path()))
          if (file.path().extension() == ".json") names.insert(file.path().stem().string());
  return {names.begin(), names.end()};
}

BaselineUpdate BaselineStore::update(const std::vector<Baseline>& rows, const std::vector<Environment>& environments) const {
  std::map<fs::path, std::map<std::tuple<std::string, std::string>, const Baseline*>> by_file;  // the last of equal keys wins
  for (const Baseline& row : rows) by_file[file_of(row.platform, row.suite)][key(row)] = &row;

  BaselineUpdate update;
  std::vector<std::pair<fs::path, std::string>> to_write;  // nothing is written before everything was understood
  for (const auto& [path, fresh] : by_file) {
    const Baseline& first = *fresh.begin()->second;
    BaselineFile file{first.suite, first.device, first.arch, first.platform, "", {}};
    const bool exists = fs::exists(path);
    const std::string before = exists ? read_file(path) : "";
    if (exists) file = read_baselines(path, first.platform, first.suite);
    for (const Environment& environment : environments)
      if (file.environment.empty() && environment.platform == file.platform) file.environment = describe(environment);
    for (const auto& [unused, row] : fresh) {
      if (row->device != file.device || row->arch != file.arch)
        throw Error(fmt::format("{}: holds rows of {} {}, but {} {} was measured on {} {}", path.string(), word(file.device), file.arch, row->case_id,
                                row->backend, word(row->device), row->arch));
      merge_row(*row, file, update);
    }
    if (std::string text = print_baselines(file); text != before) to_write.emplace_back(path, std::move(text));
  }
  for (const auto& [path, text] : to_write) {
    fs::create_directories(path.parent_path());
    write_file(path, text);
    update.written.push_back(path);
  }
  return update;
}

}  // namespace attn
