#include "engine/backend_list.hpp"

#include <cstddef>
#include <cstring>

#include "base/error.hpp"

namespace attn {

std::string list_fault(const attn_backend_list* list) {
  if (!list) return "the plugin returned no backend list";
  if (list->struct_size < sizeof(attn_backend_list)) return fmt::format("the plugin's backend list is too small: {} bytes, {} are needed", list->struct_size, sizeof(attn_backend_list));
  if (list->abi_version != ATTN_ABI_VERSION)
    return fmt::format("the plugin was built for ABI version {}; this engine speaks version {}: rebuild the plugin against this version's attn_abi.h", list->abi_version, ATTN_ABI_VERSION);
  if (list->count && !list->backends) return "the plugin's backend list is null";
  return "";
}

std::string table_fault(const attn_backend* table) {
  if (!table) return "the backend's table is null";
  constexpr std::size_t kLeast = offsetof(attn_backend, close) + sizeof table->close;  // what follows came later
  if (table->struct_size < kLeast) return fmt::format("the backend's table is too small: {} bytes, {} are needed", table->struct_size, kLeast);
  if (!table->name || !*table->name) return "the backend has no name";
  for (const auto& [function, name] : {std::pair{reinterpret_cast<const void*>(table->supports), "supports"},
                                       {reinterpret_cast<const void*>(table->open), "open"},
                                       {reinterpret_cast<const void*>(table->run), "run"},
                                       {reinterpret_cast<const void*>(table->close), "close"}})
    if (!function) return fmt::format("the backend's function {} is null", name);
  return "";
}

std::string refusal(const attn_backend& table, std::uint64_t missing) {
  const bool says_why = has(table, &attn_backend::why_not) && table.why_not_bits & missing;
  return fmt::format("{} cannot do: {}{}", table.name, words_of_bits(missing), says_why ? fmt::format(" ({})", table.why_not) : "");
}

BackendFacts backend_facts(const attn_backend& table) {
  return {table.name, table.version ? table.version : "", table.device_type == ATTN_DEVICE_CUDA ? DeviceType::cuda : DeviceType::cpu, table.can, table.flags};
}

const attn_backend& find_backend(const attn_backend_list& list, const std::string& name, std::int32_t device_type) {
  const char* const device = device_type == ATTN_DEVICE_CUDA ? "a GPU" : "a CPU";
  const attn_backend *found = nullptr, *elsewhere = nullptr;
  std::string names;
  for (std::uint32_t i = 0; i < list.count; ++i) {
    const attn_backend* table = list.backends[i];
    const bool named = table && table->struct_size > offsetof(attn_backend, name) + sizeof(table->name) && table->name;
    if (named) names += (names.empty() ? "" : ", ") + std::string(table->name);
    const std::string fault = table_fault(table);
    // A single faulty table serves under any name, so that its own fault is told rather than its name.
    if (!(named && name == table->name) && !(list.count == 1 && !fault.empty())) continue;
    if (!fault.empty()) throw Error(fault);
    if (table->device_type != device_type) {
      elsewhere = table;
      continue;
    }
    if (found) throw Error(fmt::format("the plugin holds backend \"{}\" twice", name));
    found = table;
  }
  if (found) return *found;
  if (elsewhere) throw Error(fmt::format("the plugin's backend \"{}\" is not for {}", name, device));
  throw Error(fmt::format("the plugin holds no backend \"{}\"; it holds: {}", name, names.empty() ? "none" : names));
}

attn_problem make_problem(const Case& c, const std::string& id, std::uint64_t seed) {
  attn_problem problem{};
  problem.struct_size = sizeof problem;
  problem.dtype = static_cast<std::int32_t>(c.dtype);
  problem.dtype_kv = static_cast<std::int32_t>(c.dtype_kv);
  problem.layout = static_cast<std::int32_t>(c.layout);
  problem.batch = c.batch;
  problem.heads = c.heads;
  problem.heads_kv = c.heads_kv;
  problem.seq_q = c.seq_q;
  problem.seq_kv = c.seq_kv;
  problem.head_dim = c.head_dim;
  problem.head_dim_v = c.head_dim_v;
  problem.needs = needs(c);
  problem.mask_kind = static_cast<std::int32_t>(c.mask);
  problem.alignment = static_cast<std::int32_t>(c.alignment.value_or(Alignment::top_left));
  problem.window_left = c.window_left;
  problem.window_right = c.window_right;
  problem.softcap = c.softcap;
  problem.scale = resolved_scale(c);
  problem.page_size = c.page_size;
  problem.dropout = c.dropout;
  problem.dropout_seed = seed;
  problem.dead_rows = static_cast<std::int32_t>(c.dead_rows);
  problem.pass = static_cast<std::int32_t>(c.pass);
  problem.deterministic = c.deterministic;
  problem.name = id.c_str();
  return problem;
}

}  // namespace attn
