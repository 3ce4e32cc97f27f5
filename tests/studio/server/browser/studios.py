"""Studios in processes of their own, as the command starts them, which cost no imports each."""

import os
import signal
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.studio.process import Studio, client_of
from tests.cli.copies import N_DIGITS, begun


@dataclass(frozen=True)
class Process:
    """A copy of a process that has imported all."""

    pid: int

    def send_signal(self, number):
        os.kill(self.pid, number)


@contextmanager
def studio_at(address, folder, *arguments, port=0, n_digits=1797):
    """Run ``nearkin studio`` in a folder, by who makes copies there; it is killed at the end."""
    environment = {N_DIGITS: str(n_digits)}
    arguments = ["studio", *map(str, arguments), "--no-browser", "--port", str(port)]
    reading, writing = os.pipe()
    with open(os.devnull) as nothing, (folder / "studio.log").open("a") as log:
        streams = [nothing.fileno(), writing, log.fileno()]
        with (
            os.fdopen(reading) as said,
            begun(str(address), arguments, streams, folder, **environment) as found,
        ):
            os.close(writing)
            pid, lines = found
            try:
                url = said.readline().strip()
                assert url, (folder / "studio.log").read_text()
                with client_of(url) as client:
                    yield Studio(Process(pid), url, client, folder)
            finally:
                os.kill(pid, signal.SIGKILL)
                lines.readline()  # when it has ended
