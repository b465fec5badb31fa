"""What a backend may say instead of an answer, and how an exception is told."""

import os
import traceback


class Unsupported(Exception):
    """The backend cannot do this: a row of its own status, no failure. `supports` returns the reason, `prepare` may raise this."""


class Lacking(ImportError):
    """The interpreter is not what is needed: it lacks a library, or it or the library is too old."""


def told(error, file):
    """An exception in a line, with the place in the user's file where it passed last."""
    text = " ".join("".join(traceback.format_exception_only(type(error), error)).split())
    places = [frame for frame in traceback.extract_tb(error.__traceback__) if os.path.abspath(frame.filename) == file]
    where = f" ({os.path.basename(file)}:{places[-1].lineno} in {places[-1].name})" if places else ""
    return (text or type(error).__name__) + where


def out_of_memory(error, calls):
    """An exception that says that memory ran out, after so many calls that went well. The mend of the first call's is the engine's to say."""
    text = " ".join(str(error).split()).partition(" is free.")  # torch goes on with its allocator's settings
    text = text[0] + text[1] or type(error).__name__
    grown = f"; {calls} calls went well before: memory grows from call to call" if calls else ""
    return f"out of memory: {text.rstrip('.')}{grown}"
