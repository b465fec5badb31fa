"""A Python class as a backend's C table: callbacks that let no exception through."""

import ctypes
import gc
import sys
import traceback
from types import SimpleNamespace

from . import abi, arrays
from .errors import Unsupported, told
from .problem import problem_of

INPUTS = ("q", "k", "v", "mask", "alibi", "lengths_q", "lengths_kv", "starts_q", "starts_kv", "page_table", "dout")
GRADIENTS = ("dq", "dk", "dv")


class Session:
    """A backend prepared for one problem: what `run` calls, over and over."""

    def __init__(self, prepared, backward):
        if isinstance(prepared, dict) and set(prepared) == {"forward", "backward"}:
            forward, back = prepared["forward"], prepared["backward"]
        else:
            forward, back = prepared, None
        if not callable(forward) or not (back is None or callable(back)):
            raise TypeError(f"prepare returned {type(prepared).__name__}; wanted is a function, or {{'forward': function, 'backward': function}}")
        if not backward:
            back = None
        all_parts = [(forward, ("o",) if back or not backward else ("o",) + GRADIENTS)]
        if back:
            all_parts.append((back, GRADIENTS))
        # Of each kind of call: the functions and what each of them gives.
        self._parts = {abi.CALL_ALL: all_parts, abi.CALL_FORWARD: all_parts[:1], abi.CALL_BACKWARD: all_parts[1:] or all_parts}
        self._given = {}

    def run(self, call):
        """Runs the functions of a call and points the harness's outputs at what they returned, which lives until the next call."""
        tensors = call.tensors.contents
        for function, names in self._parts[getattr(call, "pass")]:
            result = function()
            if not isinstance(result, dict):
                result = {"o": result} if names == ("o",) else dict(zip(names, result))
            for name in names:
                if name not in result:
                    raise KeyError(f"the call returned no {name}; wanted are {', '.join(names)}")
                arrays.give(name, result[name], getattr(tensors, name).contents)
            self._given[names] = result


class Backend:
    """`class_`, defined in `file`, under the name that the harness knows it by."""

    def __init__(self, class_, file, name):
        self._class, self._file = class_, file
        self._sessions, self._count = {}, 0
        # A Python class says in `supports` what it cannot do: the bits promise everything but a log-sum-exp.
        self.table = abi.attn_backend(ctypes.sizeof(abi.attn_backend), abi.DEVICE_CPU, name.encode(), arrays.VERSION.encode(), abi.CAN_LSE - 1, abi.FLAG_OWNS_OUTPUT,
                                      None, abi.Supports(self._supports), abi.Open(self._open), abi.Run(self._run), abi.Close(self._close))

    def _guarded(self, why, work):
        try:
            work()
            return abi.OK
        except Unsupported as reason:
            status, text = abi.UNSUPPORTED, str(reason)
        except BaseException as error:  # SystemExit too: a backend does not end the worker
            traceback.print_exc(file=sys.stderr)
            status, text = abi.FAILED, told(error, self._file)
        room = why.contents.size - 1
        ctypes.memmove(why.contents.data, text.encode("utf-8", "replace")[:room] + b"\0", min(len(text.encode("utf-8", "replace")), room) + 1)
        return status

    def _supports(self, _, problem, device, support, why):
        def work():
            support.contents.workspace_bytes = 0  # Python allocates for itself
            backend = self._class()
            reason = backend.supports(problem_of(problem.contents, device.contents, {})) if hasattr(backend, "supports") else None
            if reason is not None:
                raise Unsupported(reason)

        return self._guarded(why, work)

    def _open(self, _, problem, tensors, device, options, state, why):
        def work():
            table = options.contents
            chosen = {table.keys[i].decode(): table.values[i].decode() for i in range(table.count)}
            p = problem_of(problem.contents, device.contents, chosen)
            t = SimpleNamespace(**{name: arrays.view(tensor.contents) for name in INPUTS if (tensor := getattr(tensors.contents, name))})
            session = Session(self._class().prepare(p, t), p.backward)
            gc.collect()
            self._count += 1
            self._sessions[self._count] = session
            state[0] = self._count

        return self._guarded(why, work)

    def _run(self, state, call, why):
        return self._guarded(why, lambda: self._sessions[state].run(call.contents))

    def _close(self, state):
        del self._sessions[state]
