"""What comes before a request is known: heads without an end, and clients that take their time."""

from __future__ import annotations

import json
import socket
import threading
import time

import pytest
import uvicorn

from tests.attack.service import free_port
from worthwhile.serve import protocol


@pytest.fixture
def port(monkeypatch):
    """A server with short patience, which says how long the body was."""

    async def app(scope, receive, send):
        length, more = 0, True
        while more:
            message = await receive()
            length, more = length + len(message.get("body", b"")), message.get("more_body", False)
        body = str(length).encode()
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.3)
    number = free_port()
    config = uvicorn.Config(
        app, port=number, http=protocol.LimitedProtocol, lifespan="off", log_level="error"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield number
    server.should_exit = True
    thread.join()


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def answered(connection, body=b""):
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
    connection.sendall(head + body)
    return connection.recv(4096).rpartition(b"\r\n")[2]


def hangs_up(connection):
    try:
        return connection.recv(4096) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("line", [b"X-Header: " + b"a" * 1000 + b"\r\n", b"a" * 1000])
def test_a_head_without_an_end_is_hung_up_on(port, line):
    with connect(port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX-Long: ")
        with pytest.raises(ConnectionError):
            connection.sendall(100_000 * line)


def test_a_head_that_takes_too_long_is_hung_up_on(port):
    with connect(port) as silent, connect(port) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\n")
        assert hangs_up(silent)
        assert hangs_up(slow)


def test_bodies_and_many_requests_on_one_connection_are_no_heads(port):
    with connect(port) as connection:
        for size in (0, 10, 300_000, 20, 100_000):
            assert answered(connection, b"b" * size) == str(size).encode()
        for _ in range(300):
            assert answered(connection, b"c" * 500) == b"500"
        time.sleep(0.5)  # longer than a head may take: nobody waits for one
        assert answered(connection) == b"0"


@pytest.mark.parametrize(
    "sent", [b"nonsense\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"]
)  # fmt: skip
def test_what_is_no_http_is_refused_in_the_one_shape(port, sent):
    with connect(port) as connection:
        connection.sendall(sent)
        head, _, body = connection.recv(4096).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ")
        assert json.loads(body)["error"]["code"] == "bad_http"
        assert hangs_up(connection)
