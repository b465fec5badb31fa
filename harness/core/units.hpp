#pragma once
// Numbers as people read them: three digits and a unit.

#include <cstdint>
#include <string>

namespace attn {

std::string duration_text(double ns);        // "412 ns", "31.2 us", "3.21 ms", "12.0 s"
std::string bytes_text(double bytes);        // "0 B", "1.50 KiB", "256 MiB"; whole numbers without decimals
std::string flops_text(double flops);        // "34.4 GFLOP"
// A ratio new/old: "+3.2%", "-0.4%"; from a doubling or a halving on "x2.41", "x0.40".
std::string change_text(double ratio);
std::string elapsed_text(double seconds);    // "8s", "3m04s", "1h02m"
std::string error_text(double error);        // "0", "1.2e-03"

}  // namespace attn
