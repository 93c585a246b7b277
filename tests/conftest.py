import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import settings

from idm import _core
from idm._core import _select

settings.register_profile("idm", deadline=None, derandomize=True, max_examples=40, print_blob=True)
settings.load_profile("idm")


@pytest.fixture(scope="module", params=_select.runnable_variants())
def variant(request):
    """Run the test with each built variant of the extension that this processor can run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IDM_ISA", request.param)
        extension, isa = _select.load()
        for name in dir(extension):
            if not name.startswith("_"):
                patch.setattr(_core, name, getattr(extension, name))
        patch.setattr(_core, "isa", isa)
        yield isa


@pytest.fixture
def rng():
    return np.random.default_rng(12345)


@pytest.fixture
def run_python():
    """Run a script in a fresh interpreter; returns what it printed."""

    def run(script, *arguments, timeout=60, **environment):
        done = subprocess.run(
            [sys.executable, *arguments, "-c", script],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


class CtrlC:
    """Sends Ctrl-C to this process, later."""

    def __init__(self):
        self._timers = []

    def after(self, seconds):
        self._timers.append(threading.Timer(seconds, self._send))
        self._timers[-1].start()

    def _send(self):
        self._sent = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    @contextmanager
    def stops(self):
        """It comes in this block, which ends within half a second; what is too fast fails, and only here."""
        try:
            with pytest.raises(KeyboardInterrupt):
                yield
        finally:
            try:
                for timer in self._timers:
                    timer.cancel()
                    timer.join()
            except KeyboardInterrupt:
                pass  # it came after the block
        assert time.monotonic() - self._sent < 0.5


@pytest.fixture
def ctrl_c():
    """Python's handler is not there in a job that a shell started in the background, where SIGINT is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield CtrlC()
    signal.signal(signal.SIGINT, before)
