// The same entry under libFuzzer, for hours instead of seconds: libfuzzer_suite CORPUS_FOLDER

#include <cstddef>
#include <cstdint>

#include "read_anything.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  attn::read_anything({reinterpret_cast<const char*>(data), size});
  return 0;
}
