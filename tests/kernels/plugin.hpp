#pragma once
// The built plugins, opened as a host opens them: dlopen, one symbol, the table.

#include <string>
#include <vector>

#include "abi/attn_abi.h"

namespace attn::test {

// The table of `name` out of lib<file>.so; null when that plugin was not built. Plugins stay open until the process ends.
const attn_backend* find_backend(const std::string& file, const std::string& name);

struct Operation {
  std::int32_t kind;
  std::string name;
  std::uint64_t bytes;
  bool operator==(const Operation&) const = default;
};

// Listens to a backend's reports.
class Listener {
 public:
  Listener();
  const attn_ops* ops() const { return &ops_; }
  const std::vector<Operation>& operations() const { return operations_; }
  void clear() { operations_.clear(); }
  // Operations of `kind`, in order.
  std::vector<std::string> names(std::int32_t kind = ATTN_OP_KERNEL) const;
  bool balanced() const { return balanced_ && depth_ == 0; }

 private:
  attn_ops ops_;
  std::vector<Operation> operations_;
  int depth_ = 0;
  bool balanced_ = true;
};

}  // namespace attn::test
