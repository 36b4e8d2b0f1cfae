"""The end of a command's process.

Before it ends, Python gives back every object of every module, which takes some hundredths of a second and helps
nobody: the system takes all memory back at once.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading


def leave(code: int) -> None:
    """End the process at once, after exit functions (which remove temporary folders) and with all output written.

    It returns where Python has to end the process by itself: it waits for threads that are still at work, and tells
    people that output could not be written.
    """
    if any(thread is not threading.main_thread() and not thread.daemon for thread in threading.enumerate()):
        return
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (OSError, ValueError):
        return
    os._exit(code)
