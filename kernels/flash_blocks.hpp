#pragma once
// The inner loops of flash.cc: one block of keys against a tile of query rows, written for any vector length.
//
// Two orientations. In a *tile* of many rows the vector runs over the rows: scores and output are kept transposed, (keys, rows) and (head_dim_v, rows), so
// that K and V are read where they lie, element by element, and the softmax needs no sum across a vector. *Few* rows (decoding) would leave such a vector
// empty: there it runs over head_dim, over the keys, and over head_dim_v.

#include "rows.hpp"
#include "simd.hpp"

namespace attn::flash {

struct Config {
  static constexpr int rows = 64;     // of a tile
  static constexpr int keys = 64;     // of a block
  static constexpr int few_rows = 6;  // up to here a tile is mostly empty and rows go one by one
  static_assert(rows % 16 == 0, "a tile's rows are whole vectors of every instruction set");
  static_assert(keys % 16 == 0, "a block's keys are whole vectors of every instruction set");
  static_assert(few_rows < rows, "few rows use a tile's room");
  static_assert(keys == rows, "a backward pass turns a block over");
};

// What happens to a block's scores between the two products. Positions are relative to the block's first key.
struct Scores {
  float softcap;                 // 0 = none
  const float* slopes;           // (rows); null: no ALiBi
  const float* own;              // (rows), a row's own position
  const float* bias;             // what the mask tensor adds, laid out like the scores; null: no mask tensor
  const float *first, *end;      // (rows), visible keys; null: all of them
};

template <int Lanes>
ATTN_INLINE Vec<Lanes> capped(Vec<Lanes> score, float cap) {
  return cap * hyperbolic_tangent<Lanes>(score * (1.0f / cap));
}

// What a key's place does to its scores with rows i .. i + Lanes - 1: ALiBi, mask tensor, visibility.
template <int Lanes>
ATTN_INLINE Vec<Lanes> placed(Vec<Lanes> s, const Scores& how, std::int64_t j, std::int64_t i) {
  const auto key = static_cast<float>(j);
  if (how.slopes) s -= load<Lanes>(how.slopes + i) * absolute<Lanes>(load<Lanes>(how.own + i) - key);
  if (how.bias) s += load<Lanes>(how.bias + j * Config::rows + i);
  if (!how.first) return s;
  const Vec<Lanes> nothing = splat<Lanes>(kMinusInfinity);
  s = load<Lanes>(how.first + i) <= key ? s : nothing;
  return load<Lanes>(how.end + i) > key ? s : nothing;
}

// c (count, rows) = or += a (count, depth) b (depth, rows); a in any strides, b and c with Config::rows between their lines. `rows` is a multiple of 16.
struct TileProduct {
  template <int Lanes, int Lines, int Vectors>
  ATTN_INLINE static void block(std::int64_t depth, const float* a, std::int64_t a_line, std::int64_t a_depth, const float* b, float* c, bool add) {
    Vec<Lanes> sums[Lines][Vectors];
#pragma GCC unroll 8
    for (int m = 0; m < Lines; ++m)
#pragma GCC unroll 8
      for (int n = 0; n < Vectors; ++n) sums[m][n] = add ? load<Lanes>(c + m * Config::rows + n * Lanes) : Vec<Lanes>{};
    for (std::int64_t k = 0; k < depth; ++k) {
      Vec<Lanes> right[Vectors];
#pragma GCC unroll 8
      for (int n = 0; n < Vectors; ++n) right[n] = load<Lanes>(b + k * Config::rows + n * Lanes);
#pragma GCC unroll 8
      for (int m = 0; m < Lines; ++m) {
        const Vec<Lanes> left = splat<Lanes>(a[m * a_line + k * a_depth]);
#pragma GCC unroll 8
        for (int n = 0; n < Vectors; ++n) sums[m][n] += left * right[n];
      }
    }
#pragma GCC unroll 8
    for (int m = 0; m < Lines; ++m)
#pragma GCC unroll 8
      for (int n = 0; n < Vectors; ++n) store<Lanes>(c + m * Config::rows + n * Lanes, sums[m][n]);
  }
  template <int Lanes, int Vectors>
  ATTN_INLINE static void columns(std::int64_t count, std::int64_t depth, const float* a, std::int64_t a_line, std::int64_t a_depth, const float* b, float* c,
                                  bool add) {
    constexpr int kLines = 4;
    std::int64_t m = 0;
    for (; m + kLines <= count; m += kLines) block<Lanes, kLines, Vectors>(depth, a + m * a_line, a_line, a_depth, b, c + m * Config::rows, add);
    for (; m < count; ++m) block<Lanes, 1, Vectors>(depth, a + m * a_line, a_line, a_depth, b, c + m * Config::rows, add);
  }
  template <int Lanes>
  ATTN_INLINE static void run(std::int64_t count, std::int64_t rows, std::int64_t depth, const float* a, std::int64_t a_line, std::int64_t a_depth,
                              const float* b, float* c, bool add) {
    constexpr int kVectors = Lanes == 16 ? 4 : 2;  // 16 sums in 32 registers, 8 in 16
    std::int64_t i = 0;
    for (; i + Lanes * kVectors <= rows; i += Lanes * kVectors) columns<Lanes, kVectors>(count, depth, a, a_line, a_depth, b + i, c + i, add);
    for (; i < rows; i += Lanes) columns<Lanes, 1>(count, depth, a, a_line, a_depth, b + i, c + i, add);
  }
};

// One step of the online softmax (Milakov and Gimelshein 2018, arXiv 1805.02867) on scores (count, rows), which become exponentials. `most` and `total` are
// the rows' running maximum and sum, the output (width, rows) is scaled to the new maximum.
struct TileSoftmax {
  template <int Lanes>
  ATTN_INLINE static void run(float* scores, std::int64_t count, std::int64_t rows, const Scores& how, float* most, float* total, float* output,
                              std::int64_t width) {
    const Vec<Lanes> nothing = splat<Lanes>(kMinusInfinity);
    for (std::int64_t i = 0; i < rows; i += Lanes) {
      const Vec<Lanes> before = load<Lanes>(most + i);
      Vec<Lanes> now = before;
      for (std::int64_t j = 0; j < count; ++j) {
        float* at = scores + j * Config::rows + i;
        Vec<Lanes> s = load<Lanes>(at);
        if (how.softcap != 0) s = capped<Lanes>(s, how.softcap);
        s = placed<Lanes>(s, how, j, i);
        store<Lanes>(at, s);
        now = s > now ? s : now;
      }
      const Vec<Lanes> shift = now == nothing ? Vec<Lanes>{} : now;
      const Vec<Lanes> factor = exponential<Lanes>(before - shift);
      Vec<Lanes> sums = load<Lanes>(total + i) * factor;
      for (std::int64_t j = 0; j < count; ++j) {
        float* at = scores + j * Config::rows + i;
        const Vec<Lanes> e = exponential<Lanes>(load<Lanes>(at) - shift);
        store<Lanes>(at, e);
        sums += e;
      }
      store<Lanes>(most + i, now);
      store<Lanes>(total + i, sums);
      for (std::int64_t d = 0; d < width; ++d) store<Lanes>(output + d * Config::rows + i, load<Lanes>(output + d * Config::rows + i) * factor);
    }
  }
};

// Scores (count, rows) once more, as probabilities: exp(score - most) * inverse. Under a softcap, `bend` (count, rows) becomes its derivative, else it is null.
struct TileProbabilities {
  template <int Lanes>
  ATTN_INLINE static void run(float* scores, std::int64_t count, std::int64_t rows, const Scores& how, const float* most, const float* inverse, float* bend) {
    for (std::int64_t i = 0; i < rows; i += Lanes)
      for (std::int64_t j = 0; j < count; ++j) {
        float* at = scores + j * Config::rows + i;
        Vec<Lanes> s = load<Lanes>(at);
        if (bend) {
          s = capped<Lanes>(s, how.softcap);
          const Vec<Lanes> t = s * (1.0f / how.softcap);
          store<Lanes>(bend + j * Config::rows + i, (1.0f - t) * (1.0f + t));
        }
        s = placed<Lanes>(s, how, j, i);
        store<Lanes>(at, exponential<Lanes>(s - load<Lanes>(most + i)) * load<Lanes>(inverse + i));
      }
  }
};

// dP (count, rows) becomes dS = P (kept dP - delta) bend; `kept` and `bend` may be null.
struct TileGradient {
  template <int Lanes>
  ATTN_INLINE static void run(const float* weights, float* gradient, std::int64_t count, std::int64_t rows, const float* kept, const float* delta,
                              const float* bend) {
    for (std::int64_t i = 0; i < rows; i += Lanes)
      for (std::int64_t j = 0; j < count; ++j) {
        const std::int64_t at = j * Config::rows + i;
        Vec<Lanes> g = load<Lanes>(gradient + at);
        if (kept) g *= load<Lanes>(kept + at);
        g = load<Lanes>(weights + at) * (g - load<Lanes>(delta + i));
        if (bend) g *= load<Lanes>(bend + at);
        store<Lanes>(gradient + at, g);
      }
  }
};

// Few rows, one at a time: scores (rows, Config::keys) = q (rows, depth) k^T.
struct FewScores {
  template <int Lanes>
  ATTN_INLINE static void run(const float* q, std::int64_t rows, std::int64_t depth, const float* k, std::int64_t k_line, std::int64_t count, float* scores) {
    constexpr int kTogether = 4;  // independent sums hide the latency of one
    const std::int64_t whole = depth / Lanes * Lanes;
    for (std::int64_t j = 0; j < count; j += kTogether) {
      const float* lines[kTogether];
      for (int n = 0; n < kTogether; ++n) lines[n] = k + std::min(j + n, count - 1) * k_line;
      for (std::int64_t r = 0; r < rows; ++r) {
        Vec<Lanes> sums[kTogether] = {};
        const float* row = q + r * depth;
        for (std::int64_t d = 0; d < whole; d += Lanes) {
          const Vec<Lanes> left = load<Lanes>(row + d);
#pragma GCC unroll 8
          for (int n = 0; n < kTogether; ++n) sums[n] += left * load<Lanes>(lines[n] + d);
        }
#pragma GCC unroll 8
        for (int n = 0; n < kTogether; ++n) {
          float s = sum<Lanes>(sums[n]);
          for (std::int64_t d = whole; d < depth; ++d) s += row[d] * lines[n][d];
          scores[r * Config::keys + j + n] = s;  // Config::keys is a multiple of kTogether: there is room
        }
      }
    }
  }
};

// The same step as TileSoftmax for one row of `count` scores in a line of Config::keys; returns the factor that the output still needs.
struct FewSoftmax {
  template <int Lanes>
  ATTN_INLINE static void run(float* scores, std::int64_t count, const Scores& how, float* most, float* total, float* factor) {
    const Vec<Lanes> nothing = splat<Lanes>(kMinusInfinity);
    Vec<Lanes> largest = splat<Lanes>(*most);
    const float first = how.first ? std::max(*how.first, 0.0f) : 0.0f;
    const float end = how.end ? std::min(*how.end, static_cast<float>(count)) : static_cast<float>(count);
    for (std::int64_t j = 0; j < count; j += Lanes) {
      const Vec<Lanes> key = iota<Lanes>() + static_cast<float>(j);
      Vec<Lanes> s = load<Lanes>(scores + j);
      if (how.softcap != 0) s = capped<Lanes>(s, how.softcap);
      if (how.slopes) s -= *how.slopes * absolute<Lanes>(*how.own - key);
      if (how.bias) s += load<Lanes>(how.bias + j);
      s = key >= first ? s : nothing;
      s = key < end ? s : nothing;
      store<Lanes>(scores + j, s);
      largest = s > largest ? s : largest;
    }
    const float now = maximum<Lanes>(largest), shift = now == kMinusInfinity ? 0.0f : now;
    *factor = exponential<Lanes>(splat<Lanes>(*most - shift))[0];
    Vec<Lanes> sums{};
    for (std::int64_t j = 0; j < count; j += Lanes) {
      const Vec<Lanes> e = exponential<Lanes>(load<Lanes>(scores + j) - shift);
      store<Lanes>(scores + j, e);
      sums += e;
    }
    *most = now;
    *total = *total * *factor + sum<Lanes>(sums);
  }
};

// output (width) = factor * output + probabilities (count) v.
struct FewOutput {
  template <int Lanes, int Vectors>
  ATTN_INLINE static void columns(const float* p, std::int64_t count, const float* v, std::int64_t v_line, float* output, float factor) {
    Vec<Lanes> sums[Vectors];
#pragma GCC unroll 8
    for (int n = 0; n < Vectors; ++n) sums[n] = load<Lanes>(output + n * Lanes) * factor;
    for (std::int64_t j = 0; j < count; ++j) {
      const Vec<Lanes> weight = splat<Lanes>(p[j]);
#pragma GCC unroll 8
      for (int n = 0; n < Vectors; ++n) sums[n] += weight * load<Lanes>(v + j * v_line + n * Lanes);
    }
#pragma GCC unroll 8
    for (int n = 0; n < Vectors; ++n) store<Lanes>(output + n * Lanes, sums[n]);
  }
  template <int Lanes>
  ATTN_INLINE static void run(const float* p, std::int64_t count, const float* v, std::int64_t v_line, std::int64_t width, float* output, float factor) {
    std::int64_t d = 0;
    for (; d + 8 * Lanes <= width; d += 8 * Lanes) columns<Lanes, 8>(p, count, v + d, v_line, output + d, factor);
    for (; d + Lanes <= width; d += Lanes) columns<Lanes, 1>(p, count, v + d, v_line, output + d, factor);
    for (; d < width; ++d) {
      float s = output[d] * factor;
      for (std::int64_t j = 0; j < count; ++j) s += p[j] * v[j * v_line + d];
      output[d] = s;
    }
  }
};

// Rows of any format and stride to dense fp32, (count, columns).
struct WidenRows {
  template <int Lanes>
  ATTN_INLINE static void run(const Strided& from, const char* first, std::int64_t count, std::int64_t columns, float* to) {
    const std::int64_t line_bytes = from.row * static_cast<std::int64_t>(element_bytes(from.dtype));
    for (std::int64_t n = 0; n < count; ++n) widen_row(first + n * line_bytes, from.column, from.dtype, columns, to + n * columns);
  }
};

}  // namespace attn::flash
