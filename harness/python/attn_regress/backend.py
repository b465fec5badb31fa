"""A Python class as a backend's C table: callbacks that let no exception through."""

import ctypes
import gc
import os
import sys
import traceback
from types import SimpleNamespace

from . import abi
from .errors import Unsupported, out_of_memory, told
from .problem import problem_of

INPUTS = ("q", "k", "v", "mask", "alibi", "lengths_q", "lengths_kv", "starts_q", "starts_kv", "page_table", "dout")
GRADIENTS = ("dq", "dk", "dv")
_copy_text = ctypes.memmove  # as it is before the user's code may replace it


def print_traceback(error):
    """From the first frame on that is not the harness's."""
    try:
        frames = error.__traceback__
        while frames and os.path.dirname(frames.tb_frame.f_code.co_filename) == os.path.dirname(__file__):
            frames = frames.tb_next
        traceback.print_exception(type(error), error, frames, file=sys.__stderr__)
    except BaseException:
        pass  # the user's code may have closed or replaced it


class Unseen:
    """An output that a case has no place for."""

    def give(self, array):
        pass


class Part:
    """A function of a backend's, the outputs that it gives, and what it returned last, which lives until its next call."""

    def __init__(self, function, outputs):
        self.function, self._outputs, self.result = function, outputs, None

    def settle(self):
        """Points the harness's outputs at what the function returned."""
        named = self._named()
        if named.keys() != self._outputs.keys():
            lse = "; of `lse` the class says `lse = True`" if "lse" in named.keys() - self._outputs.keys() else ""
            raise ValueError(f"the call returned {', '.join(map(str, named)) or 'an empty dict'}; wanted are {', '.join(self._outputs)}{lse}")
        for name, output in self._outputs.items():
            output.give(named[name])

    def _named(self):
        if isinstance(self.result, dict):
            return self.result
        if len(self._outputs) == 1:
            return dict.fromkeys(self._outputs, self.result)
        if not isinstance(self.result, (tuple, list)) or len(self.result) != len(self._outputs):
            raise TypeError(f"the call returned {type(self.result).__name__}; wanted are {', '.join(self._outputs)} in a dict or in this order")
        return dict(zip(self._outputs, self.result))


class Session:
    """A backend prepared for one problem: what `run` calls, over and over."""

    def __init__(self, prepared, pass_, outputs):
        apart = isinstance(prepared, dict) and set(prepared) == {"forward", "backward"}
        functions = [prepared["forward"], prepared["backward"]] if apart else [prepared]
        if not all(callable(function) for function in functions):
            raise TypeError(f"prepare returned {type(prepared).__name__}; wanted is a function, or {{'forward': function, 'backward': function}}")
        if pass_ == abi.BACKWARD and not apart:
            raise Unsupported("a backward pass alone needs {'forward': function, 'backward': function} of prepare")
        given = [outputs]
        if apart:
            given = [{name: output for name, output in outputs.items() if (name in GRADIENTS) == gradients} for gradients in (False, True)]
        parts = [Part(function, those) for function, those in zip(functions, given) if those]
        self._of_call = {abi.CALL_ALL: parts, abi.CALL_FORWARD: parts[:1], abi.CALL_BACKWARD: parts[1:]} if pass_ == abi.BACKWARD else None
        self._called = parts
        self.calls = 0  # that went well

    def run(self, call):
        """Runs the functions of a call, whose address this is, and does nothing else: it is timed."""
        if self._of_call:
            self._called = self._of_call[getattr(abi.attn_call.from_address(call), "pass")]
        for part in self._called:
            part.result = part.function()

    def settle(self):
        for part in self._called:
            part.settle()
        self.calls += 1


class Backend:
    """A Python class under the name that the harness knows it by: a table for each kind of device that it is for."""

    def __init__(self, name, load, file, arrays, devices, engine, lse=False):
        """`load` gives the class, which `file` defines; it is first called when a question comes that only the class can answer.
        `lse`: it returns a log-sum-exp too."""
        self._load, self._file, self._arrays, self._engine = load, file, arrays, engine
        self._sessions, self._count = {}, 0
        # A Python class says in `supports` what it cannot do: the bits promise everything but a log-sum-exp.
        can = abi.CAN_LSE - 1 | (abi.CAN_LSE if lse else 0)
        self._outputs = ("o", "lse") + GRADIENTS if lse else ("o",) + GRADIENTS
        functions = (abi.Supports(self._supports), abi.Open(self._open), abi.Run(self._run), abi.Close(self._close))
        between = (abi.Rest(self._rest), abi.Settle(self._settle))
        self.tables = [abi.attn_backend(ctypes.sizeof(abi.attn_backend), abi.DEVICES[device], name.encode(), arrays.VERSION.encode(), can,
                                        abi.FLAG_OWNS_OUTPUT, None, *functions, 0, None, *between) for device in devices]

    def _refused(self, error, why, session=None):
        """The status of an exception, and its text where the harness reads it. Raises nothing, whatever the exception does when it is looked at."""
        calls = session.calls if session else 0
        # What a backend cannot do it knows before a call went well.
        status = abi.UNSUPPORTED if isinstance(error, Unsupported) and not calls else abi.FAILED
        try:
            if self._arrays.is_out_of_memory(error):
                # Too large from the start is a limit, the backend's or the machine's, which the engine decides; later on it is a fault.
                status = abi.FAILED if calls else abi.UNSUPPORTED
                if not calls:
                    self._engine.attn_note_out_of_memory(self._arrays.wanted_bytes(error))
                text = out_of_memory(error, calls)
            else:
                text = str(error) if status == abi.UNSUPPORTED else told(error, self._file)
        except BaseException:
            status, text = abi.FAILED, f"an exception of type {type(error).__name__} that cannot be printed"
        if status == abi.FAILED:
            print_traceback(error)
        try:
            data = str.encode(str.__str__(text), "utf-8", "replace")[:why.contents.size - 1] + b"\0"  # `text` may be of a class of the user's
            _copy_text(why.contents.data, data, len(data))
        except BaseException:
            status = abi.FAILED
        return status

    def _supports(self, _, problem, device, support, why):
        try:
            support.contents.workspace_bytes = 0  # Python allocates for itself
            lacks = self._arrays.lacks(device.contents.device_type)
            if lacks:
                raise Unsupported(lacks)
            backend = self._load()()
            reason = backend.supports(problem_of(problem.contents, device.contents, {})) if hasattr(backend, "supports") else None
            if not isinstance(reason, (str, type(None))):
                raise TypeError(f"supports returned {type(reason).__name__}; wanted is None, or the reason why not")
            if reason is not None:
                raise Unsupported(reason)
            return abi.OK
        except BaseException as error:  # SystemExit too: a backend does not end the worker
            return self._refused(error, why)

    def _open(self, _, problem, tensors, device, options, state, why):
        try:
            self._arrays.begin(device.contents, self._engine.attn_stream())
            table = options.contents
            chosen = {table.keys[i].decode(): table.values[i].decode() for i in range(table.count)}
            p = problem_of(problem.contents, device.contents, chosen)
            given = {name: tensor.contents for name in INPUTS + self._outputs if (tensor := getattr(tensors.contents, name))}
            t = SimpleNamespace(**{name: self._arrays.view(given[name]) if name in given else None for name in INPUTS})
            outputs = {name: self._arrays.Output(name, given[name]) if name in given else Unseen() for name in self._outputs
                       if name in given or name == "lse"}
            backend = self._load()()
            self._note_memory()
            session = Session(backend.prepare(p, t), getattr(problem.contents, "pass"), outputs)
            self._note_memory()
            gc.collect()
            gc.freeze()  # what lives now needs no look in every collection
            self._count += 1
            self._sessions[self._count] = session
            state[0] = self._count
            return abi.OK
        except BaseException as error:
            status = self._refused(error, why)
        self._tidy()  # after the exception is gone, and with it the frames that hold arrays
        return status

    def _run(self, state, call, why):
        try:
            self._sessions[state].run(call)
            return abi.OK
        except BaseException as error:
            return self._refused(error, ctypes.pointer(abi.attn_text.from_address(why)), self._sessions[state])

    def _settle(self, state, why):
        try:
            self._sessions[state].settle()
            return abi.OK
        except BaseException as error:
            return self._refused(error, why, self._sessions[state])

    def _rest(self, _):
        try:
            gc.collect()  # it is switched off inside calls, whose time it would be in
            self._note_memory()
        except BaseException as error:
            print_traceback(error)

    def _note_memory(self):
        memory = self._arrays.memory()
        if memory:
            self._engine.attn_note_memory(*memory)

    def _close(self, state):
        try:
            del self._sessions[state]
            gc.unfreeze()
        except BaseException as error:
            print_traceback(error)
        self._tidy()

    def _tidy(self):
        """Leaves nothing of a case to the next one."""
        try:
            dynamo = sys.modules.get("torch._dynamo")
            if dynamo:
                dynamo.reset()
            gc.collect()
            self._arrays.end()
        except BaseException as error:
            print_traceback(error)
