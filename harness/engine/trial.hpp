#pragma once
// All that happens for one request inside a worker, in the order of DESIGN section 2.

#include "abi/attn_abi.h"
#include "core/records.hpp"
#include "engine/device.hpp"
#include "engine/record_writer.hpp"

namespace attn {

// Runs the phases that `request` asks for. Writes `started` records and the `block` as they come; returns the closing record, whatever the backend answered.
MeasurementRecord run_trial(const attn_backend_list& backends, const Request& request, Device& device, RecordWriter& write);

}  // namespace attn
