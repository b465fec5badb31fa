#pragma once
// The number formats of attention, the same bits on a host and in a kernel: exact widening, and narrowing that rounds to nearest, ties to even (IEEE 754; OCP
// 8-bit formats, revision 1.0).

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "abi/attn_abi.h"
#include "abi/attn_host_device.hpp"

namespace attn {

// Bytes of one element.
constexpr std::size_t element_bytes(std::int32_t dtype) {
  switch (dtype) {
    case ATTN_FP32: return 4;
    case ATTN_FP16:
    case ATTN_BF16: return 2;
    default: return 1;
  }
}

ATTN_HOST_DEVICE inline float bf16_to_float(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

ATTN_HOST_DEVICE inline std::uint16_t float_to_bf16(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);  // stay quiet, stay NaN
  bits += 0x7fffu + ((bits >> 16) & 1u);
  return static_cast<std::uint16_t>(bits >> 16);
}

// Without branches, because whole tensors pass through these two. A half's bits, moved to a float's place, are the value times 2^-112, subnormals included.
ATTN_HOST_DEVICE inline float fp16_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16, moved = (half & 0x7fffu) << 13;
  const auto finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(moved) * 0x1p112f);
  return std::bit_cast<float>(sign | ((half & 0x7c00u) == 0x7c00u ? moved | 0x7f800000u : finite));
}

ATTN_HOST_DEVICE inline std::uint16_t float_to_fp16(float value) {
  const auto all = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = all & 0x7fffffffu;
  const std::uint32_t normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;  // a carry moves into the exponent, up to infinity
  // Added to 0.5, the last place of a float is 2^-24, a half's subnormal spacing: the addition rounds.
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - std::bit_cast<std::uint32_t>(0.5f);
  const std::uint32_t large = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const std::uint32_t bits = magnitude >= 0x47800000u ? large : magnitude < 0x38800000u ? subnormal : normal;
  return static_cast<std::uint16_t>((all >> 16 & 0x8000u) | bits);
}

namespace detail {

// A binary format with `exponent` and `mantissa` bits. With `has_infinity` false the all-ones pattern alone is NaN (OCP E4M3) and overflow gives NaN.
struct SmallFormat {
  int exponent, mantissa;
  bool has_infinity;
  constexpr int bias() const { return (1 << (exponent - 1)) - 1; }
  constexpr std::uint32_t exponent_mask() const { return (1u << exponent) - 1u; }
  constexpr std::uint32_t mantissa_mask() const { return (1u << mantissa) - 1u; }
};

inline constexpr SmallFormat kE4M3{4, 3, false};
inline constexpr SmallFormat kE5M2{5, 2, true};

ATTN_HOST_DEVICE inline float widen(std::uint32_t bits, SmallFormat format) {
  const float sign = (bits >> (format.exponent + format.mantissa)) & 1u ? -1.0f : 1.0f;
  const std::uint32_t e = (bits >> format.mantissa) & format.exponent_mask(), m = bits & format.mantissa_mask();
  if (e == format.exponent_mask()) {
    if (format.has_infinity) return m ? std::bit_cast<float>(0x7fc00000u) : sign * std::bit_cast<float>(0x7f800000u);
    if (m == format.mantissa_mask()) return std::bit_cast<float>(0x7fc00000u);
  }
  const auto fraction = static_cast<float>(m);
  if (e == 0) return sign * std::ldexp(fraction, 1 - format.bias() - format.mantissa);
  return sign * std::ldexp(fraction + static_cast<float>(1u << format.mantissa), static_cast<int>(e) - format.bias() - format.mantissa);
}

ATTN_HOST_DEVICE inline std::uint32_t narrow(float value, SmallFormat format) {
  const std::uint32_t sign = std::signbit(value) ? 1u << (format.exponent + format.mantissa) : 0u;
  const std::uint32_t infinity = format.exponent_mask() << format.mantissa;
  const std::uint32_t nan = infinity | format.mantissa_mask();
  if (std::isnan(value)) return sign | nan;
  const std::uint32_t overflow = format.has_infinity ? infinity : nan;
  if (std::isinf(value)) return sign | overflow;
  const float magnitude = std::fabs(value);
  if (magnitude == 0.0f) return sign;
  int exponent = std::ilogb(magnitude);
  if (exponent < 1 - format.bias()) exponent = 1 - format.bias();  // subnormal spacing
  // In units of the last place; exact, because it only shifts the exponent. nearbyint rounds to even in the default mode.
  const float units = std::nearbyint(std::ldexp(magnitude, format.mantissa - exponent));
  const auto whole = static_cast<std::uint32_t>(units);
  const std::uint32_t hidden = 1u << format.mantissa;
  std::uint32_t bits = 0;
  if (whole < hidden) bits = whole;  // subnormal
  else bits = ((static_cast<std::uint32_t>(exponent + format.bias() - 1) << format.mantissa) + whole);  // a carry moves into the exponent
  const std::uint32_t largest = format.has_infinity ? infinity - 1u : nan - 1u;
  return sign | (bits > largest ? overflow : bits);
}

}  // namespace detail

// Reads element `index` of an array of `dtype`.
ATTN_HOST_DEVICE inline float load_element(const void* data, std::int64_t index, std::int32_t dtype) {
  switch (dtype) {
    case ATTN_FP32: return static_cast<const float*>(data)[index];
    case ATTN_FP16: return fp16_to_float(static_cast<const std::uint16_t*>(data)[index]);
    case ATTN_BF16: return bf16_to_float(static_cast<const std::uint16_t*>(data)[index]);
    case ATTN_FP8_E4M3: return detail::widen(static_cast<const std::uint8_t*>(data)[index], detail::kE4M3);
    default: return detail::widen(static_cast<const std::uint8_t*>(data)[index], detail::kE5M2);
  }
}

// Rounds `value` to `dtype` and writes it as element `index`.
ATTN_HOST_DEVICE inline void store_element(void* data, std::int64_t index, std::int32_t dtype, float value) {
  switch (dtype) {
    case ATTN_FP32: static_cast<float*>(data)[index] = value; return;
    case ATTN_FP16: static_cast<std::uint16_t*>(data)[index] = float_to_fp16(value); return;
    case ATTN_BF16: static_cast<std::uint16_t*>(data)[index] = float_to_bf16(value); return;
    case ATTN_FP8_E4M3: static_cast<std::uint8_t*>(data)[index] = static_cast<std::uint8_t>(detail::narrow(value, detail::kE4M3)); return;
    default: static_cast<std::uint8_t*>(data)[index] = static_cast<std::uint8_t>(detail::narrow(value, detail::kE5M2)); return;
  }
}

}  // namespace attn
