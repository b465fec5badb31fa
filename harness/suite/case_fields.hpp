#pragma once
// The fields of a case in a suite file: each one's name and how it is read, listed once.

#include <optional>
#include <string>
#include <vector>

#include "core/case.hpp"
#include "suite/axes.hpp"
#include "yaml/node.hpp"

namespace attn {

// A case while it is read: what follows from other fields when it is not written stays apart.
struct CaseDraft {
  Case value;
  std::optional<std::int64_t> heads_kv, head_dim_v;
  std::optional<DType> dtype_kv;
  std::vector<std::string> tags;
};

struct CaseField {
  std::string_view name;
  void (*read)(const Node& node, CaseDraft& draft);  // of a node without axes; throws Error at its place
  bool required = false;
};

// `seq` comes before seq_q and seq_kv, which override it. The name is none of them.
const std::vector<CaseField>& case_fields();
WordList case_field_names();
// Fields to come, refused until then.
const WordList& reserved_case_fields();
const FieldNature& case_field_nature();

// Fills in what follows from other fields.
Case finish_case(const CaseDraft& draft);

// Letters, digits and . _ + - in segments joined by '/'; `segments` false: one segment. Throws Error at the node.
const std::string& read_name(const Node& node, bool segments);

}  // namespace attn
