#pragma once
// What makes a backend one file: a class with `info`, `supports`, a constructor and `run` becomes a C table by one registration line.
//
//   class Mine {
//    public:
//     static constexpr attn::BackendInfo info{.name = "mine", .can = ATTN_CAN_FP32 | ATTN_CAN_CAUSAL, .flags = ATTN_FLAG_REPORTS_OPS};
//     static attn::Support supports(const attn_problem&, const attn_device_facts&);       // {workspace bytes}, or throw attn::Unsupported("why")
//     Mine(const attn_problem&, const attn_tensors&, const attn_device_facts&, const attn::Options&);
//     void run(const attn_call&);                                                         // throws on failure
//   };
//   ATTN_BACKENDS(Mine)
//
// Exceptions are turned into statuses and text here, at the border.

#include <cstdint>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

#include "abi/attn_abi.h"

namespace attn {

// Thrown by supports, the constructor: this backend cannot do the problem, and why.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Why `can` lacks these bits.
struct WhyNot {
  std::uint64_t bits = 0;
  const char* why = nullptr;
};

struct BackendInfo {
  const char* name;
  std::uint64_t can;
  std::uint64_t flags = 0;
  std::int32_t device_type = ATTN_DEVICE_CPU;
  const char* version = nullptr;
  WhyNot why_not = {};
};

struct Support {
  std::uint64_t workspace_bytes = 0;
};

// The `options:` of a suite's backend entry.
class Options {
 public:
  explicit Options(const attn_options* options) : options_(options) {}
  // Throws when an option is set that is not one of `known`: an option that nobody reads would be a setting silently ignored.
  void allow(std::initializer_list<std::string_view> known) const {
    for (std::uint32_t i = 0; options_ && i < options_->count; ++i) {
      bool found = false;
      std::string names;
      for (const std::string_view name : known) {
        found = found || name == options_->keys[i];
        names.append(names.empty() ? "" : ", ").append(name);
      }
      if (!found)
        throw std::runtime_error("option `" + std::string(options_->keys[i]) + "` is unknown; " +
                                 (names.empty() ? "this backend has no options" : "known are: " + names));
    }
  }
  // The value of `key`, or `fallback` when it is not set.
  std::string_view get(std::string_view key, std::string_view fallback) const {
    for (std::uint32_t i = 0; options_ && i < options_->count; ++i)
      if (key == options_->keys[i]) return options_->values[i];
    return fallback;
  }

 private:
  const attn_options* options_;
};

// Reports one operation for as long as it lives. Costs one test when nobody listens.
class Op {
 public:
  Op(const attn_call& call, attn_op_kind kind, const char* name, std::uint64_t bytes = 0) : ops_(call.ops) {
    if (ops_) ops_->begin(ops_->self, kind, name, bytes);
  }
  ~Op() {
    if (ops_) ops_->end(ops_->self);
  }
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;

 private:
  const attn_ops* ops_;
};

namespace detail {

inline void write_text(attn_text* text, const char* message) {
  if (text && text->data && text->size) std::snprintf(text->data, static_cast<std::size_t>(text->size), "%s", message);
}

template <class Body>
attn_status guarded(attn_text* why, Body&& body) {
  try {
    body();
    return ATTN_OK;
  } catch (const Unsupported& unsupported) {
    write_text(why, unsupported.what());
    return ATTN_UNSUPPORTED;
  } catch (const std::exception& error) {
    write_text(why, error.what());
    return ATTN_FAILED;
  } catch (...) {
    write_text(why, "an exception that is not a std::exception");
    return ATTN_FAILED;
  }
}

template <class Kernel>
struct Table {
  static attn_status supports(void*, const attn_problem* problem, const attn_device_facts* device, attn_support* support, attn_text* why) {
    return guarded(why, [&] { support->workspace_bytes = Kernel::supports(*problem, *device).workspace_bytes; });
  }
  static attn_status open(void*, const attn_problem* problem, const attn_tensors* tensors, const attn_device_facts* device, const attn_options* options,
                          void** state, attn_text* why) {
    return guarded(why, [&] { *state = new Kernel(*problem, *tensors, *device, Options(options)); });
  }
  static attn_status run(void* state, const attn_call* call, attn_text* why) {
    return guarded(why, [&] { static_cast<Kernel*>(state)->run(*call); });
  }
  static void close(void* state) { delete static_cast<Kernel*>(state); }

  static constexpr attn_backend value{sizeof(attn_backend), Kernel::info.device_type, Kernel::info.name, Kernel::info.version, Kernel::info.can,
                                      Kernel::info.flags, nullptr, supports, open, run, close,
                                      Kernel::info.why_not.bits, Kernel::info.why_not.why, nullptr, nullptr};
};

template <class... Kernels>
const attn_backend_list* backend_list() {
  static const attn_backend* const tables[] = {&Table<Kernels>::value...};
  static const attn_backend_list list{sizeof(attn_backend_list), ATTN_ABI_VERSION, sizeof...(Kernels), 0, tables};
  return &list;
}

}  // namespace detail
}  // namespace attn

#define ATTN_BACKENDS(...) \
  extern "C" ATTN_EXPORT const attn_backend_list* attn_backends(void) { return ::attn::detail::backend_list<__VA_ARGS__>(); }
