#include "problem.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <sstream>
#include <stdexcept>

#include "abi/attn_dtype.hpp"

namespace attn::test {
namespace {

constexpr std::int64_t kRedZone = 64;       // elements
constexpr std::uint64_t kWorkspaceZone = 4096;  // bytes
constexpr std::int32_t kBool = -1, kInt32 = -2;  // beside the attn_dtype values

std::int64_t size_of(std::int32_t dtype) {
  if (dtype == kBool) return 1;
  return dtype == kInt32 ? 4 : static_cast<std::int64_t>(element_bytes(dtype));
}

DLDataType dl_type(std::int32_t dtype) {
  switch (dtype) {
    case kBool: return {6, 8, 1};
    case kInt32: return {0, 32, 1};
    case ATTN_BF16: return {4, 16, 1};
    default: return {2, static_cast<std::uint8_t>(8 * size_of(dtype)), 1};
  }
}

std::vector<std::int64_t> strides_of(std::int32_t layout, Stride kind, std::int64_t batch, std::int64_t heads, std::int64_t rows, std::int64_t columns) {
  if (kind == Stride::transposed) return {heads * rows * columns, rows * columns, 1, rows};
  const std::int64_t width = kind == Stride::sliced ? columns + 3 : columns;
  std::vector<std::int64_t> strides{heads * rows * width, rows * width, width, 1};
  if (layout == ATTN_BSHD) strides = {rows * heads * width, width, heads * width, 1};
  if (layout == ATTN_SBHD) strides = {heads * width, width, batch * heads * width, 1};
  if (kind == Stride::expanded) strides[heads > 1 ? 1 : 0] = 0;
  return strides;
}

const char* word(Stride kind) {
  constexpr const char* words[] = {"dense", "expanded", "transposed", "sliced"};
  return words[static_cast<int>(kind)];
}

}  // namespace

std::string to_string(const Spec& s) {
  std::ostringstream out;
  out << "b" << s.batch << " h" << s.heads << "." << (s.heads_kv ? s.heads_kv : s.heads) << " q" << s.seq_q << " k" << s.seq_kv << " d" << s.head_dim << "."
      << (s.head_dim_v ? s.head_dim_v : s.head_dim) << " dtype " << s.dtype << "." << s.dtype_kv.value_or(s.dtype) << " layout " << s.layout << " mask "
      << static_cast<int>(s.mask) << "/" << static_cast<int>(s.pattern) << " full " << s.mask_batch << s.mask_head << s.mask_row << s.mask_column << " align "
      << s.alignment << " window " << s.window_left << "," << s.window_right << " softcap " << s.softcap << " scale " << s.scale.value_or(NAN) << " slopes "
      << s.slopes.size() << " dead " << s.dead_rows << " pages " << s.page_size << " strides " << word(s.q) << " " << word(s.k) << " " << word(s.v) << " " << word(s.o) << " lengths";
  for (const auto n : s.lengths_q) out << " q" << n;
  for (const auto n : s.lengths_kv) out << " k" << n;
  out << " seed " << s.seed;
  return out.str();
}

Tensor::Tensor(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides, std::int32_t dtype, std::int64_t extra_elements)
    : shape_(std::move(shape)), strides_(std::move(strides)), dtype_(dtype) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < shape_.size(); ++i) last += (shape_[i] - 1) * strides_[i];
  allocate(last + 1 + extra_elements);
}

Tensor::Tensor(std::vector<std::int64_t> shape, std::array<std::int64_t, 2> strides, std::int32_t dtype, std::vector<std::int64_t> rows,
               std::vector<std::int64_t> shown_shape, std::vector<std::int64_t> shown_strides)
    : shape_(std::move(shape)), strides_({0, strides[0], 0, strides[1]}), rows_(std::move(rows)), shown_shape_(std::move(shown_shape)),
      shown_strides_(std::move(shown_strides)), dtype_(dtype) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < shown_shape_.size(); ++i) last += (shown_shape_[i] - 1) * shown_strides_[i];
  allocate(std::max<std::int64_t>(last, 0) + 1);
  dl_.ndim = static_cast<std::int32_t>(shown_shape_.size());
  dl_.shape = shown_shape_.data();
  dl_.strides = shown_strides_.data();
}

void Tensor::allocate(std::int64_t elements) {
  const std::int32_t dtype = dtype_;
  bytes_.assign(static_cast<std::size_t>((elements + 2 * kRedZone) * size_of(dtype)), 0xff);
  // Half of the way in by byte_offset, so that a backend which ignores it reads NaN.
  dl_.data = bytes_.data() + kRedZone / 2 * size_of(dtype);
  dl_.byte_offset = static_cast<std::uint64_t>(kRedZone / 2 * size_of(dtype));
  dl_.device = {ATTN_DEVICE_CPU, 0};
  dl_.ndim = static_cast<std::int32_t>(shape_.size());
  dl_.dtype = dl_type(dtype);
  dl_.shape = shape_.data();
  dl_.strides = strides_.data();
}

void Tensor::show(const Tensor& other, std::int64_t first_element, std::vector<std::int64_t> strides) {
  shown_strides_ = std::move(strides);
  dl_.data = other.dl_.data;
  dl_.byte_offset = other.dl_.byte_offset + static_cast<std::uint64_t>(first_element * size_of(dtype_));
  dl_.strides = shown_strides_.data();
}

std::int64_t Tensor::offset(std::span<const std::int64_t> index) const {
  std::int64_t at = kRedZone;
  if (!rows_.empty()) return at + rows_[static_cast<std::size_t>(index[0] * shape_[2] + index[2])] + index[1] * strides_[1] + index[3] * strides_[3];
  for (std::size_t i = 0; i < index.size(); ++i) at += index[i] * strides_[i];
  return at;
}

double Tensor::get(std::span<const std::int64_t> index) const {
  const std::int64_t at = offset(index);
  if (dtype_ == kBool) return bytes_[static_cast<std::size_t>(at)];
  if (dtype_ == kInt32) return reinterpret_cast<const std::int32_t*>(bytes_.data())[at];
  return load_element(bytes_.data(), at, dtype_);
}

void Tensor::set(std::span<const std::int64_t> index, double value) {
  const std::int64_t at = offset(index);
  if (dtype_ == kBool) bytes_[static_cast<std::size_t>(at)] = value != 0;
  else if (dtype_ == kInt32) reinterpret_cast<std::int32_t*>(bytes_.data())[at] = static_cast<std::int32_t>(value);
  else store_element(bytes_.data(), at, dtype_, static_cast<float>(value));
}

void Tensor::poison() { std::fill(bytes_.begin(), bytes_.end(), static_cast<unsigned char>(0xff)); }

void Tensor::each_index(const std::function<void(const std::vector<std::int64_t>&)>& body) const {
  std::vector<std::int64_t> index(shape_.size(), 0);
  for (;;) {
    body(index);
    std::size_t axis = shape_.size();
    while (axis > 0 && ++index[axis - 1] == shape_[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

bool Tensor::untouched_outside() const {
  std::vector<unsigned char> rest = bytes_;
  each_index([&](const std::vector<std::int64_t>& index) {
    if (index.size() == 4 && !has(index[0], index[2])) return;
    std::memset(rest.data() + offset(index) * size_of(dtype_), 0xff, static_cast<std::size_t>(size_of(dtype_)));
  });
  for (const unsigned char byte : rest)
    if (byte != 0xff) return false;
  return true;
}

std::unique_ptr<Tensor> Problem::ragged(std::int64_t heads, std::int64_t rows, std::int64_t columns, std::int32_t dtype, Stride kind,
                                        const std::vector<std::int32_t>& lengths) {
  std::int64_t tokens = 0;
  for (const std::int32_t length : lengths) tokens += length;
  std::vector<std::int64_t> strides = strides_of(ATTN_BSHD, kind, 1, heads, tokens, columns), table(static_cast<std::size_t>(spec_.batch * rows), -1);
  if (heads == 1 && kind == Stride::expanded) strides = strides_of(ATTN_BSHD, Stride::dense, 1, heads, tokens, columns);
  std::int64_t token = 0;
  for (std::int64_t b = 0; b < spec_.batch; ++b)
    for (std::int64_t i = 0; i < lengths.at(static_cast<std::size_t>(b)); ++i) table[static_cast<std::size_t>(b * rows + i)] = token++ * strides[2];
  return std::make_unique<Tensor>(std::vector{spec_.batch, heads, rows, columns}, std::array{strides[1], strides[3]}, dtype, table,
                                  std::vector{tokens, heads, columns}, std::vector{strides[2], strides[1], strides[3]});
}

std::unique_ptr<Tensor> Problem::paged(std::int64_t columns, std::int32_t dtype, Stride kind) {
  const Spec& s = spec_;
  if (s.heads_kv == 1 && kind == Stride::expanded) kind = Stride::dense;
  const std::vector<std::int64_t> strides = strides_of(s.layout, kind, page_count_, s.heads_kv, s.page_size, columns);
  std::vector<std::int64_t> table(static_cast<std::size_t>(s.batch * s.seq_kv), -1);
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t j = 0; j < keys(b); ++j)
      table[static_cast<std::size_t>(b * s.seq_kv + j)] =
          pages_[static_cast<std::size_t>(b * pages_per_entry_ + j / s.page_size)] * strides[0] + j % s.page_size * strides[2];
  return std::make_unique<Tensor>(std::vector{s.batch, s.heads_kv, s.seq_kv, columns}, std::array{strides[1], strides[3]}, dtype, table,
                                  std::vector{page_count_, s.heads_kv, s.page_size, columns}, strides);
}

void Problem::make_operands() {
  const Spec& s = spec_;
  const std::int32_t dtype_kv = s.dtype_kv.value_or(s.dtype);
  if (s.layout == ATTN_PACKED_QKV) {
    // (batch, seq, heads + 2 heads_kv, head_dim): one buffer, three views.
    const std::int64_t all = s.heads + 2 * s.heads_kv, d = s.head_dim;
    packed = std::make_unique<Tensor>(std::vector{s.batch, s.seq_q, all, d}, std::vector{s.seq_q * all * d, all * d, d, std::int64_t{1}}, s.dtype);
  }
  if (s.page_size > 0) {
    const auto pages_of = [&](std::int64_t b) { return (keys(b) + s.page_size - 1) / s.page_size; };
    for (std::int64_t b = 0; b < s.batch; ++b) {
      pages_per_entry_ = std::max(pages_per_entry_, pages_of(b));
      page_count_ += pages_of(b);
    }
    std::vector<std::int32_t> order(static_cast<std::size_t>(page_count_));
    std::iota(order.begin(), order.end(), 0);
    std::mt19937 random(s.seed + 5);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    pages_.assign(static_cast<std::size_t>(s.batch * pages_per_entry_), static_cast<std::int32_t>(page_count_));  // the last page is nobody's
    for (std::int64_t b = 0; b < s.batch; ++b)
      for (std::int64_t n = 0; n < pages_of(b); ++n, order.pop_back()) pages_[static_cast<std::size_t>(b * pages_per_entry_ + n)] = order.back();
    ++page_count_;
  }
  const auto dense = [&](std::int64_t heads, std::int64_t rows, std::int64_t columns, std::int32_t dtype, Stride kind) {
    return std::make_unique<Tensor>(std::vector{s.batch, heads, rows, columns}, strides_of(s.layout, kind, s.batch, heads, rows, columns), dtype);
  };
  const auto of_queries = [&](std::int64_t columns, Stride kind) {
    return s.layout == ATTN_THD ? ragged(s.heads, s.seq_q, columns, s.dtype, kind, s.lengths_q) : dense(s.heads, s.seq_q, columns, s.dtype, kind);
  };
  const auto of_keys = [&](std::int64_t columns, Stride kind) {
    if (s.page_size > 0) return paged(columns, dtype_kv, kind);
    return s.layout == ATTN_THD ? ragged(s.heads_kv, s.seq_kv, columns, dtype_kv, kind, s.lengths_kv) : dense(s.heads_kv, s.seq_kv, columns, dtype_kv, kind);
  };
  q = of_queries(s.head_dim, s.q);
  k = of_keys(s.head_dim, s.k);
  v = of_keys(s.head_dim_v, s.v);
  o = of_queries(s.head_dim_v, s.o);
  if (s.lse)
    lse = std::make_unique<Tensor>(std::vector{s.batch, s.heads, s.seq_q}, std::vector{s.heads * s.seq_q, s.seq_q, std::int64_t{1}}, ATTN_FP32);
}

void Problem::make_tables() {
  const Spec& s = spec_;
  const auto integers = [](const std::vector<std::int32_t>& values, std::vector<std::int64_t> shape) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
    auto tensor = std::make_unique<Tensor>(std::move(shape), std::move(strides), kInt32);
    std::size_t next = 0;
    if (!values.empty()) tensor->each_index([&](const std::vector<std::int64_t>& index) { tensor->set(index, values.at(next++)); });
    return tensor;
  };
  const auto starts = [](const std::vector<std::int32_t>& lengths) {
    std::vector<std::int32_t> result{0};
    for (const std::int32_t length : lengths) result.push_back(result.back() + length);
    return result;
  };
  if (!s.lengths_q.empty()) lengths_q = integers(s.lengths_q, {s.batch});
  if (!s.lengths_kv.empty()) lengths_kv = integers(s.lengths_kv, {s.batch});
  if (s.layout == ATTN_THD) {
    starts_q = integers(starts(s.lengths_q), {s.batch + 1});
    if (s.page_size == 0) starts_kv = integers(starts(s.lengths_kv), {s.batch + 1});
  }
  if (s.page_size > 0) page_table = integers(pages_, {s.batch, pages_per_entry_});
  if (s.slopes.empty()) return;
  alibi = std::make_unique<Tensor>(std::vector{s.heads}, std::vector<std::int64_t>{1}, ATTN_FP32);
  for (std::int64_t h = 0; h < s.heads; ++h) alibi->set({h}, s.slopes.at(static_cast<std::size_t>(h)));
}

Problem::Problem(const Spec& given) : spec_(given), name_(to_string(given)) {
  Spec& s = spec_;
  if (!s.heads_kv) s.heads_kv = s.heads;
  if (!s.head_dim_v) s.head_dim_v = s.head_dim;
  const std::int32_t dtype_kv = s.dtype_kv.value_or(s.dtype);
  make_operands();
  make_tables();
  if (s.mask == Mask::boolean || s.mask == Mask::additive) make_mask();

  std::mt19937 random(s.seed);
  std::normal_distribution<double> normal;
  const auto fill = [&](auto...) { return normal(random); };
  fill_q(fill);
  fill_k(fill);
  fill_v(fill);

  const bool tensor_mask = s.mask == Mask::boolean || s.mask == Mask::additive;
  problem_.struct_size = sizeof(attn_problem);
  problem_.dtype = s.dtype;
  problem_.dtype_kv = dtype_kv;
  problem_.layout = s.layout;
  problem_.batch = s.batch;
  problem_.heads = s.heads;
  problem_.heads_kv = s.heads_kv;
  problem_.seq_q = s.seq_q;
  problem_.seq_kv = s.seq_kv;
  problem_.head_dim = s.head_dim;
  problem_.head_dim_v = s.head_dim_v;
  problem_.mask_kind = s.mask == Mask::causal ? ATTN_MASK_CAUSAL : tensor_mask ? ATTN_MASK_TENSOR : ATTN_MASK_NONE;
  problem_.alignment = s.alignment;
  problem_.window_left = s.window_left;
  problem_.window_right = s.window_right;
  problem_.softcap = s.softcap;
  problem_.page_size = s.page_size;
  problem_.scale = s.scale.value_or(1.0 / std::sqrt(static_cast<double>(s.head_dim)));
  problem_.dead_rows = s.dead_rows;
  problem_.pass = ATTN_FORWARD;
  problem_.name = name_.c_str();
  const auto need = [&](bool condition, std::uint64_t bit) { problem_.needs |= condition ? bit : 0; };
  for (const std::int32_t dtype : {s.dtype, dtype_kv}) need(true, dtype == ATTN_FP32 ? ATTN_CAN_FP32 : dtype == ATTN_FP16 ? ATTN_CAN_FP16 : ATTN_CAN_BF16);
  need(s.dtype != dtype_kv, ATTN_CAN_MIXED_KV);
  need(s.heads != s.heads_kv, ATTN_CAN_GQA);
  need(s.head_dim != s.head_dim_v, ATTN_CAN_HEAD_DIM_V);
  need(s.mask == Mask::causal, ATTN_CAN_CAUSAL);
  need(s.window_left >= 0 || s.window_right >= 0, ATTN_CAN_WINDOW);
  need(s.softcap != 0, ATTN_CAN_SOFTCAP);
  need(s.scale.has_value(), ATTN_CAN_SCALE);
  need(!s.slopes.empty(), ATTN_CAN_ALIBI);
  need(s.mask == Mask::boolean, ATTN_CAN_MASK_BOOL);
  need(s.mask == Mask::additive, ATTN_CAN_MASK_ADDITIVE);
  need(lengths_q || lengths_kv, s.layout == ATTN_THD ? ATTN_CAN_RAGGED : ATTN_CAN_LENGTHS);
  need(s.page_size > 0, ATTN_CAN_PAGED);
  need(s.q != Stride::dense || s.k != Stride::dense || s.v != Stride::dense || s.o != Stride::dense, ATTN_CAN_STRIDED);
  need(s.lse, ATTN_CAN_LSE);
  need(s.dead_rows == ATTN_DEAD_MEAN, ATTN_CAN_DEAD_MEAN);

  const auto dl = [](const std::unique_ptr<Tensor>& tensor) { return tensor ? tensor->dl() : nullptr; };
  tensors_.struct_size = sizeof(attn_tensors);
  tensors_.q = q->dl();
  tensors_.k = k->dl();
  tensors_.v = v->dl();
  tensors_.o = o->dl();
  tensors_.lse = dl(lse);
  tensors_.mask = dl(mask);
  tensors_.alibi = dl(alibi);
  tensors_.lengths_q = dl(lengths_q);
  tensors_.lengths_kv = dl(lengths_kv);
  tensors_.starts_q = dl(starts_q);
  tensors_.starts_kv = dl(starts_kv);
  tensors_.page_table = dl(page_table);
  if (packed) {
    // The backend sees views into one buffer; q, k and v keep their values for the reference.
    const auto view = [&](Tensor& tensor, std::int64_t first_head) {
      tensor.each_index([&](const std::vector<std::int64_t>& i) { packed->set({i[0], i[2], first_head + i[1], i[3]}, tensor.get(i)); });
      const std::int64_t all = s.heads + 2 * s.heads_kv, d = s.head_dim;
      tensor.show(*packed, first_head * d, {s.seq_q * all * d, d, all * d, 1});
    };
    view(*q, 0);
    view(*k, s.heads);
    view(*v, s.heads + s.heads_kv);
  }
}

std::int64_t Problem::queries(std::int64_t b) const { return spec_.lengths_q.empty() ? spec_.seq_q : spec_.lengths_q[static_cast<std::size_t>(b)]; }
std::int64_t Problem::keys(std::int64_t b) const { return spec_.lengths_kv.empty() ? spec_.seq_kv : spec_.lengths_kv[static_cast<std::size_t>(b)]; }

void Problem::fill_input(Tensor& tensor, const Fill& fill, bool queries_axis) {
  tensor.each_index([&](const std::vector<std::int64_t>& i) {
    const bool padding = i[2] >= (queries_axis ? queries(i[0]) : keys(i[0]));
    const double value = fill(i[0], i[1], i[2], i[3]);
    if (!padding) tensor.set(i, value);
  });
}

void Problem::make_mask() {
  const Spec& s = spec_;
  const std::int32_t dtype = s.mask == Mask::boolean ? kBool : s.dtype;
  const std::int64_t shape[] = {s.batch, s.heads, s.seq_q, s.seq_kv};
  const bool full[] = {s.mask_batch, s.mask_head, s.mask_row, s.mask_column};
  std::vector<std::int64_t> strides(4);
  std::int64_t stride = 1;
  for (int axis = 3; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = full[axis] ? stride : 0;
    if (full[axis]) stride *= shape[axis];
  }
  mask = std::make_unique<Tensor>(std::vector<std::int64_t>(shape, shape + 4), strides, dtype);
  std::mt19937 random(s.seed + 77);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double minimum = s.dtype == ATTN_FP16 ? -65504.0 : s.dtype == ATTN_BF16 ? -3.3895313892515355e38 : -3.4028234663852886e38;
  mask->each_index([&](const std::vector<std::int64_t>& i) {
    const bool coin = random() % 3 != 0;
    const double noise = static_cast<double>(random() % 1000) / 500.0 - 1.0;
    const bool visible = s.pattern == Pattern::all_visible || (s.pattern == Pattern::last_row_dead ? i[2] + 1 < s.seq_q : coin);
    if (s.mask == Mask::boolean) mask->set(i, visible);
    else if (s.pattern == Pattern::all_minimum) mask->set(i, minimum);
    else mask->set(i, visible ? (s.pattern == Pattern::random ? noise : 0.0) : -kInfinity);
  });
}

Session::Session(const attn_backend& backend, Problem& problem, std::vector<const char*> options, int threads) : backend_(backend), problem_(problem) {
  attn_device_facts device{};
  device.struct_size = sizeof device;
  device.device_type = ATTN_DEVICE_CPU;
  device.threads = threads;
  attn_support support{};
  support.struct_size = sizeof support;
  if (problem.problem().needs & ~backend.can) throw std::runtime_error("the problem needs what the backend cannot");
  if (backend.supports(backend.self, &problem.problem(), &device, &support, &why_) != ATTN_OK) throw std::runtime_error(text_);
  std::vector<const char*> keys, values;
  for (std::size_t i = 0; i + 1 < options.size(); i += 2) {
    keys.push_back(options[i]);
    values.push_back(options[i + 1]);
  }
  const attn_options list{sizeof(attn_options), static_cast<std::uint32_t>(keys.size()), keys.data(), values.data()};
  if (backend.open(backend.self, &problem.problem(), &problem.tensors(), &device, &list, &state_, &why_) != ATTN_OK) throw std::runtime_error(text_);
  workspace_bytes_ = support.workspace_bytes;
  workspace_.assign(static_cast<std::size_t>(workspace_bytes_ + 2 * kWorkspaceZone + 256), 0xff);
  aligned_ = workspace_.data() + kWorkspaceZone;
  aligned_ += (256 - reinterpret_cast<std::uintptr_t>(aligned_) % 256) % 256;
}

Session::~Session() {
  if (state_) backend_.close(state_);
}

attn_status Session::call(const attn_ops* ops) {
  attn_tensors tensors = problem_.tensors();
  const attn_call call{sizeof(attn_call), ATTN_CALL_ALL, nullptr, &tensors, aligned_, workspace_bytes_, ops};
  return backend_.run(state_, &call, &why_);
}

void Session::run(const attn_ops* ops) {
  problem_.o->poison();
  if (problem_.lse) problem_.lse->poison();
  std::memset(aligned_, 0xff, static_cast<std::size_t>(workspace_bytes_));
  if (call(ops) != ATTN_OK) throw std::runtime_error(text_);
}

bool Session::workspace_kept() const {
  for (const unsigned char* byte = workspace_.data(); byte < workspace_.data() + workspace_.size(); ++byte)
    if ((byte < aligned_ || byte >= aligned_ + workspace_bytes_) && *byte != 0xff) return false;
  return true;
}

}  // namespace attn::test
