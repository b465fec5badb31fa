"""Three calls of PyTorch's fused attention, for what profilers say of the warps that their kernels keep busy.

    occupancy.py             prints a JSON list: what Kineto, the profiler within PyTorch, estimates of each call's kernel, in percent
    occupancy.py --call      only makes the calls, one attention kernel each: for Nsight Compute to measure
"""

import json
import pathlib
import sys
import tempfile

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

CALLS = [("torch.flash, head_dim 64", SDPBackend.FLASH_ATTENTION, 64), ("torch.flash, head_dim 128", SDPBackend.FLASH_ATTENTION, 128),
         ("torch.cudnn, head_dim 64", SDPBackend.CUDNN_ATTENTION, 64)]


def attend(way, head_dim):
    q, k, v = (torch.randn(8, 16, 1024, head_dim, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    with torch.no_grad(), sdpa_kernel(way):
        torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.cuda.synchronize()


def estimate(way, head_dim):
    attend(way, head_dim)  # what a first call does beside is not looked at
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        attend(way, head_dim)
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(trace))
        events = json.loads(trace.read_text())["traceEvents"]
    (kernel,) = [event for event in events if event.get("cat") == "kernel" and ("flash" in event["name"] or "sdpa" in event["name"])]
    return kernel["args"]["est. achieved occupancy %"]


if sys.argv[1:] == ["--call"]:
    for _, way, head_dim in CALLS:
        attend(way, head_dim)
else:
    print(json.dumps([{"call": name, "estimate": estimate(way, head_dim)} for name, way, head_dim in CALLS]))
