#include "engine/device_self_test.hpp"

#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "engine/host_device.hpp"
#include "engine/tensors.hpp"

namespace attn {
namespace {

constexpr std::uint64_t kSeed = 1;

// Odd sizes, grouped heads, a window, a cap and biases: whatever a kernel could leave out is in it.
Case telling_case() {
  Case c;
  c.name = "self-test";
  c.batch = 2;
  c.heads = 6;
  c.heads_kv = 2;
  c.seq_q = 67;
  c.seq_kv = 131;
  c.head_dim = 40;
  c.head_dim_v = 24;
  c.dtype = c.dtype_kv = DType::bf16;
  c.layout = Layout::bshd;
  c.mask = MaskKind::causal;
  c.alignment = Alignment::bottom_right;
  c.window_left = 60;
  c.softcap = 20;
  return c;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double each = std::fabs(a[i] - b[i]);
    if (!(each <= largest)) largest = each;  // a NaN stays
  }
  return largest;
}

}  // namespace

std::optional<std::string> device_self_test(Device& device) {
  const Case c = telling_case();
  HostDevice host;
  Tensors here(host, c), there(device, c);
  here.fill(kSeed);
  there.fill(kSeed);
  for (const auto& [name, on_host, on_device] : {std::tuple{"q", here.q(), there.q()}, {"k", here.k(), there.k()}, {"v", here.v(), there.v()}})
    if (read_dense(host, on_host).storage != read_dense(device, on_device).storage) return fmt::format("{} of the device differs from the host's", name);

  const std::vector<OutputRow> rows = sample_rows(c, {}, kSeed, {.flops = 1e18, .elements = 1e18});
  const Reading right{.value = c, .text = {}};
  const auto on_host = host.reference({here.q(), here.k(), here.v(), {}}), on_device = device.reference({there.q(), there.k(), there.v(), {}});
  constexpr double kExact = 1e-12, kNaive = 0.05;  // of values of about 1: double precision, and bf16's roundings in another order
  if (const double error = largest_difference(on_host->exact(right, rows).out, on_device->exact(right, rows).out); !(error < kExact))
    return fmt::format("the device's reference differs from the host's by {:.3g}", error);
  if (const double error = largest_difference(on_host->naive(right, rows).out, on_device->naive(right, rows).out); !(error < kNaive))
    return fmt::format("the device's naive evaluation differs from the host's by {:.3g}", error);
  return std::nullopt;
}

}  // namespace attn
