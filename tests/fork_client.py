"""``blendp`` in a shell: has itself forked by the process of tests/forked.py, with this one's files, and ends alike."""

import json
import os
import signal
import socket
import sys

environment = dict(os.environ)
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(environment.pop("BLENDP_TEST_FORKS"))
    request = {"arguments": sys.argv[1:], "cwd": os.getcwd(), "env": environment}  # noqa: PTH109 - loads less
    signal.signal(signal.SIGTERM, lambda *_: connection.send(b"T"))
    socket.send_fds(connection, [json.dumps(request).encode()], [0, 1, 2])
    code = int(connection.recv(16))
sys.exit(code if code >= 0 else 128 - code)
