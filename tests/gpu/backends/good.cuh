#pragma once
// The attention that every misbehaving backend of this folder does right but for one thing: one thread for one element of the output, in double, on tensors in
// any strides. It knows causality, grouped heads, a scale and three number formats, and nothing else.
//
// A misbehaving backend derives from Good, changes what it tells the kernel (`a_`) or what it enqueues, and registers itself. Its first lines say what it
// does and what must come of it; ../../backends/run.py reads them (its head says how):
//
//   // Writes the first half of every row.
//   // expect: suite=plain status=wrong reason="never written"
//   #include "good.cuh"
//
//   struct Mutant : attn::Good {
//     using Good::Good;
//     void run(const attn_call& call) {
//       a_.head_dim_v /= 2;
//       Good::run(call);
//     }
//   };
//   ATTN_BACKENDS(Mutant)

#include <cmath>

#include "cuda_backend.cuh"

namespace attn {

// (batch, heads, seq, head_dim) in any strides, counted in elements.
struct View {
  char* data = nullptr;
  std::int32_t dtype = ATTN_FP32;
  std::int64_t strides[4] = {};

  View() = default;
  View(const DLTensor& tensor, std::int32_t type) : data(static_cast<char*>(tensor.data) + tensor.byte_offset), dtype(type) {
    for (int axis = 0; axis < 4; ++axis) strides[axis] = tensor.strides[axis];
  }
  __device__ std::int64_t index(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) const {
    return b * strides[0] + h * strides[1] + s * strides[2] + d * strides[3];
  }
  __device__ double get(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) const {
    const std::int64_t at = index(b, h, s, d);
    if (dtype == ATTN_FP32) return reinterpret_cast<const float*>(data)[at];
    if (dtype == ATTN_FP16) return widen(reinterpret_cast<const __half*>(data)[at]);
    return widen(reinterpret_cast<const __nv_bfloat16*>(data)[at]);
  }
  __device__ void set(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d, double value) const {
    const std::int64_t at = index(b, h, s, d);
    const auto single = static_cast<float>(value);
    if (dtype == ATTN_FP32) reinterpret_cast<float*>(data)[at] = single;
    else if (dtype == ATTN_FP16) reinterpret_cast<__half*>(data)[at] = narrow<__half>(single);
    else reinterpret_cast<__nv_bfloat16*>(data)[at] = narrow<__nv_bfloat16>(single);
  }
};

// What a kernel is told.
struct Attention {
  View q, k, v, o;
  std::int64_t batch = 0, heads = 0, heads_kv = 0, seq_q = 0, seq_kv = 0, head_dim = 0, head_dim_v = 0;
  double scale = 1;
  bool causal = false;

  Attention(const attn_problem& p, const attn_tensors& t)
      : q(*t.q, p.dtype), k(*t.k, p.dtype), v(*t.v, p.dtype), o(*t.o, p.dtype), batch(p.batch), heads(p.heads), heads_kv(p.heads_kv), seq_q(p.seq_q),
        seq_kv(p.seq_kv), head_dim(p.head_dim), head_dim_v(p.head_dim_v), scale(p.scale), causal(p.mask_kind == ATTN_MASK_CAUSAL) {}
  // Elements of the output.
  __host__ __device__ std::int64_t elements() const { return batch * heads * seq_q * head_dim_v; }
};

// Where an element of the output lies, counted (batch, heads, seq_q, head_dim_v) with the last axis fastest.
struct Element {
  std::int64_t b, h, i, d, h_kv;
  __device__ Element(const Attention& a, std::int64_t element) {
    d = element % a.head_dim_v;
    i = element / a.head_dim_v % a.seq_q;
    h = element / a.head_dim_v / a.seq_q % a.heads;
    b = element / a.head_dim_v / a.seq_q / a.heads;
    h_kv = h / (a.heads / a.heads_kv);
  }
};

__device__ inline std::int64_t thread_index() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

struct Exact {
  __device__ double operator()(double value) const { return value; }
};

// The value of one element; every intermediate number passes through `round`. The softmax goes along with its keys (Milakov and Gimelshein, 2018).
template <class Round = Exact>
__device__ double attend_element(const Attention& a, const Element& at, Round round = {}) {
  double most = -INFINITY, sum = 0, total = 0;
  const std::int64_t keys = a.causal ? at.i + 1 : a.seq_kv;
  for (std::int64_t j = 0; j < keys; ++j) {
    double score = 0;
    for (std::int64_t x = 0; x < a.head_dim; ++x) score = round(score + a.q.get(at.b, at.h, at.i, x) * a.k.get(at.b, at.h_kv, j, x));
    score = round(score * a.scale);
    const double largest = fmax(most, score), kept = round(exp(most - largest)), weight = round(exp(score - largest));
    sum = round(sum * kept + weight);
    total = round(total * kept + weight * a.v.get(at.b, at.h_kv, j, at.d));
    most = largest;
  }
  return round(total / sum);
}

// Waits on the device.
__device__ inline void wait_ns(std::uint64_t time_ns) {
  const auto now = [] {
    std::uint64_t time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    return time;
  };
  const std::uint64_t start = now();
  while (now() - start < time_ns) __nanosleep(1000);
}

// Elements first to end - 1.
__global__ void good_attention(Attention a, std::int64_t first, std::int64_t end) {
  const std::int64_t element = first + thread_index();
  if (element >= end) return;
  const Element at(a, element);
  a.o.set(at.b, at.h, at.i, at.d, attend_element(a, at));
}

// A stream beside the call's, which does not wait for anybody.
class SideStream {
 public:
  SideStream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"); }
  ~SideStream() { cudaStreamDestroy(stream_); }
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

inline cudaStream_t stream_of(const attn_call& call) { return static_cast<cudaStream_t>(call.stream); }

class Good {
 public:
  static constexpr std::uint64_t kCan =
      ATTN_CAN_FP32 | ATTN_CAN_FP16 | ATTN_CAN_BF16 | ATTN_CAN_GQA | ATTN_CAN_HEAD_DIM_V | ATTN_CAN_CAUSAL | ATTN_CAN_SCALE | ATTN_CAN_STRIDED;
  static constexpr BackendInfo info{.name = "mutant", .can = kCan, .device_type = ATTN_DEVICE_CUDA, .version = "1"};
  static constexpr int kThreads = 128;

  static Support supports(const attn_problem&, const attn_device_facts&) { return {}; }
  Good(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const Options&)
      : device_(device.device_id), a_(problem, tensors) {
    use_device(device, good_attention);
  }
  virtual ~Good() = default;

  void run(const attn_call& call) { attend(stream_of(call)); }

 protected:
  void attend(cudaStream_t stream) const { attend(stream, 0, a_.elements()); }
  void attend(cudaStream_t stream, std::int64_t first, std::int64_t end) const {
    launch(good_attention, divide_up(end - first, kThreads), kThreads, stream, "good_attention", a_, first, end);
  }

  int device_;
  Attention a_;
};

}  // namespace attn
