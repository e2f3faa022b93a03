"""A network in front of PostgreSQL that loses the answer of a commit: the work is done, and nobody hears of it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

CHUNK = 65536


@dataclass
class LossyProxy:
    """Passes bytes on; the first commit on a connection that has said `marker` is passed on, its answer is not."""

    target_port: int
    marker: bytes
    losses: int = 1
    down_afterwards: bool = False
    """That nobody is let in any more once an answer was lost, until `repair`."""
    lost: int = 0
    said: list[bytes] = field(default_factory=list)
    port: int = 0
    _down: threading.Event = field(default_factory=threading.Event)

    def count(self, text: bytes) -> int:
        """Return how many messages of clients held a text."""
        return sum(message.count(text) for message in self.said)

    def repair(self) -> None:
        """Let connections through again."""
        self._down.clear()

    def serve(self, listener: socket.socket) -> None:
        """Accept connections until the listener is closed."""
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            if self._down.is_set():
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self.target_port))
            cut = threading.Event()
            for work, pair in ((self._pass_questions, (client, server)), (self._pass_answers, (server, client))):
                threading.Thread(target=work, args=(*pair, cut), daemon=True).start()

    def _pass_questions(self, client: socket.socket, server: socket.socket, cut: threading.Event) -> None:
        marked = False
        with suppress(OSError):
            while data := client.recv(CHUNK):
                self.said.append(data)
                marked = marked or self.marker in data
                if marked and b"COMMIT" in data and self.lost < self.losses:
                    self.lost += 1
                    # From here on nothing goes back: whatever the server answers is lost.
                    cut.set()
                    if self.down_afterwards:
                        self._down.set()
                server.sendall(data)
        _close(server, client)

    def _pass_answers(self, server: socket.socket, client: socket.socket, cut: threading.Event) -> None:
        with suppress(OSError):
            while data := server.recv(CHUNK):
                if cut.is_set():
                    break
                client.sendall(data)
        _close(server, client)


@contextmanager
def start_lossy_proxy(target_port: int, marker: bytes, *, down_afterwards: bool = False) -> Iterator[LossyProxy]:
    """Start a proxy on a port of its own."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        proxy = LossyProxy(target_port, marker, down_afterwards=down_afterwards, port=listener.getsockname()[1])
        threading.Thread(target=proxy.serve, args=(listener,), daemon=True).start()
        yield proxy
        # A thread that waits in accept keeps the port until it is woken.
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)


def _close(*sockets: socket.socket) -> None:
    for item in sockets:
        with suppress(OSError):
            item.shutdown(socket.SHUT_RDWR)
        item.close()
