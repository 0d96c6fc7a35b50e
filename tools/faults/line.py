"""A line between two programs that can be broken on purpose."""

import select
import socket
import threading
import time


class Line:
    """A TCP forwarder that can be cut, silenced and slowed down."""

    def __init__(self, target):
        self.target = target
        self.cut = self.silent = self.stopped = False
        self.rate = 0  # bytes a second and direction; 0: none
        self.pairs = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while not self.stopped:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            if self.cut:
                near.close()
                continue
            try:
                far = socket.create_connection(self.target, timeout=5)
            except OSError:
                near.close()
                continue
            self.pairs.append((near, far))
            for one, other in ((near, far), (far, near)):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._forward, args=(one, other), daemon=True).start()

    def _forward(self, source, sink):
        try:
            while not self.stopped:
                if self.silent:
                    time.sleep(0.02)
                    continue
                if not select.select([source], [], [], 0.05)[0]:
                    continue
                data = source.recv(16384 if self.rate else 1 << 18)
                if not data:
                    break
                if self.rate:
                    time.sleep(len(data) / self.rate)
                sink.sendall(data)
        except (OSError, ValueError):
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def break_now(self):
        self.cut = True
        for pair in self.pairs:
            for end in pair:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        self.pairs = []

    def heal(self):
        self.cut = self.silent = False
        self.rate = 0

    def close(self):
        self.stopped = True
        self.listener.close()
        self.break_now()
