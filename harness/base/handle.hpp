#pragma once
// The one owner of C handles: Handle<T, destroy> is moved, never copied, and destroys exactly once.

#include <utility>

namespace attn {

// T: a pointer or an integer; `Destroy` is called with it unless it equals `Empty`.
template <class T, auto Destroy, T Empty = T{}>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T value) : value_(value) {}
  Handle(Handle&& other) noexcept : value_(std::exchange(other.value_, Empty)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      value_ = std::exchange(other.value_, Empty);
    }
    return *this;
  }
  ~Handle() { reset(); }

  T get() const { return value_; }
  explicit operator bool() const { return value_ != Empty; }
  // For C functions that fill a handle.
  T* out() {
    reset();
    return &value_;
  }
  T release() { return std::exchange(value_, Empty); }
  void reset() {
    if (value_ != Empty) Destroy(std::exchange(value_, Empty));
  }

 private:
  T value_ = Empty;
};

}  // namespace attn
