#pragma once
// The known faults of planted.cc and planted.cu, which say what they are on their device: each is Chain's work, and worse in one way. For a file that has
// included its chain, and has said `constexpr attn::BackendInfo planted_info(const char* name)`.

#include <charconv>

#include "abi/attn_kernel.hpp"

namespace attn {

// The number before `unit`; throws with what was found and what is allowed.
inline double number(const Options& options, std::string_view key, std::string_view fallback, std::string_view unit, double largest) {
  const std::string_view text = options.get(key, fallback);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || std::string_view(end, static_cast<std::size_t>(text.data() + text.size() - end)) != unit || !(value >= 0 && value <= largest))
    throw std::runtime_error("option `" + std::string(key) + "` is `" + std::string(text) + "`; allowed is a number from 0 to " +
                             std::to_string(static_cast<long long>(largest)) + (unit.empty() ? "" : " with `" + std::string(unit) + "`"));
  return value;
}

}  // namespace attn

namespace {

using attn::Options;
using attn::Plants;
using attn::Route;

// One fault. Fault::plants reads the options and says which are known.
template <class Fault>
class Planted : public attn::Chain {
 public:
  static attn::Support supports(const attn_problem& problem, const attn_device_facts& device) {
    return Chain::supports(problem, device, Fault::route, Fault::plants(Options(nullptr)));
  }
  Planted(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const Options& options)
      : Chain(problem, tensors, device, Fault::route, Fault::plants(options)) {}
};

struct ExtraCopy {
  static constexpr Route route = Route::naive;
  static Plants plants(const Options& options) {
    options.allow({});
    return {.copy = true};
  }
};
struct SlowSoftmax {
  static constexpr Route route = Route::naive;
  static Plants plants(const Options& options) {
    options.allow({"extra"});
    return {.slow_softmax = attn::number(options, "extra", "100%", "%", 100000) / 100};
  }
};
struct Delay {
  static constexpr Route route = Route::naive;
  static Plants plants(const Options& options) {
    options.allow({"delay_us"});
    return {.delay_us = static_cast<std::int64_t>(attn::number(options, "delay_us", "1300", "", 10'000'000))};
  }
};
struct OtherPath {
  static constexpr Route route = Route::math;
  static Plants plants(const Options& options) {
    options.allow({});
    return {};
  }
};

struct Copy : Planted<ExtraCopy> {
  static constexpr attn::BackendInfo info = planted_info("planted.copy");
  using Planted::Planted;
};
struct Slow : Planted<SlowSoftmax> {
  static constexpr attn::BackendInfo info = planted_info("planted.slow");
  using Planted::Planted;
};
struct Late : Planted<Delay> {
  static constexpr attn::BackendInfo info = planted_info("planted.delay");
  using Planted::Planted;
};
struct Path : Planted<OtherPath> {
  static constexpr attn::BackendInfo info = planted_info("planted.path");
  using Planted::Planted;
};

}  // namespace
