#include "engine/record_writer.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace attn {

void RecordWriter::write_line(const std::string& record) {
  const std::string line = record + "\n";
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t n = write(descriptor_, line.data() + sent, line.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw Error(std::string("cannot write records: ") + std::strerror(errno), Fault::internal);
    sent += static_cast<std::size_t>(n);
  }
}

}  // namespace attn
