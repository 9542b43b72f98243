"""Requests over HTTP: one connection a process, to one host, with limits on all that comes back.

The standard library's client is used. What it lacks of larger ones (pools, proxies, cookies, stored
passwords) is what an audit must not have: a cookie ties outputs together, a proxy may answer from a
cache, and a client that repeats a request by itself hides answers.
"""

from __future__ import annotations

import http.client
import os
import socket
import ssl
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urljoin, urlsplit

from dpaudit.errors import MechanismError
from dpaudit.services.answers import ServiceAnswer, decode_content

_REDIRECTS = 4
_MOVED = (301, 302, 303, 307, 308)
_PIECE = 2**16  # bytes
# The process is part of the key: a forked child that used its parent's socket would read
# answers that were meant for the parent.
_open: dict[tuple[int, str, str], http.client.HTTPConnection] = {}


class ServiceRequest(NamedTuple):
    """A request whose words are filled in: an address, which no message shows, and the rest."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes | None


class ClosedConnection(Exception):
    """A connection that was kept open had been closed, and nothing was answered."""


class Absent(MechanismError):
    """Nobody takes connections: no request was sent, so that no answer is hidden."""


def answer_of(request: ServiceRequest, timeout: float, most: int) -> ServiceAnswer:
    """Return the answer to a request.

    Parameters
    ----------
    request
        It is sent once; again only where a connection from before turns out to be closed.
    timeout
        Seconds to wait for a connection, and for each part of an answer.
    most
        Bytes that a body may have.

    Raises
    ------
    MechanismError
        There is no answer, it is too large, or it leads to another host; `Absent` where nobody
        takes connections.
    """
    for _ in range(_REDIRECTS + 1):
        found = _send_with_retry(request, timeout, most)
        if found.status not in _MOVED or "location" not in found.headers:
            return found
        request = _make_redirected_request(request, found)
    raise MechanismError(f"answered with more than {_REDIRECTS} redirects")


def _make_redirected_request(request: ServiceRequest, found: ServiceAnswer) -> ServiceRequest:
    """Return the request that a redirect asks for, on the same host alone."""
    url = urljoin(request.url, found.headers["location"])
    before, after = urlsplit(request.url), urlsplit(url)
    # The headers may hold a password, which no other host may get.
    if _get_url_host(before) != _get_url_host(after):
        raise MechanismError(
            f"answered with a redirect to another host ({after.scheme}://{after.netloc}), which "
            "is not followed: give that address, if it is the service"
        )
    # These two statuses ask for the same request again; after the others every client sends a
    # GET.
    if found.status in (307, 308) or request.method in ("GET", "HEAD"):
        return request._replace(url=url)
    return ServiceRequest("GET", url, request.headers, None)


def _get_url_host(url: SplitResult) -> tuple[str, str | None, int]:
    port = url.port or (443 if url.scheme == "https" else 80)
    return url.scheme, url.hostname, port


def _send_with_retry(request: ServiceRequest, timeout: float, most: int) -> ServiceAnswer:
    try:
        return _send_request(request, timeout, most)
    except ClosedConnection:
        # A server may close an idle connection at the moment of the next request. On a new
        # connection the same failure is an answer of the service, and is not tried again.
        return _send_request(request, timeout, most)


def _send_request(request: ServiceRequest, timeout: float, most: int) -> ServiceAnswer:
    url = urlsplit(request.url)
    key = os.getpid(), url.scheme, url.netloc
    connection, known = _open.get(key), key in _open
    if connection is None:
        connection = _open[key] = _make_connection(url, timeout)
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    try:
        connection.request(request.method, path, request.body, request.headers)
        _set_quick_acknowledgement(connection.sock)
        response = connection.getresponse()
    except (http.client.BadStatusLine, ConnectionError, BrokenPipeError) as error:
        _close_connection(key)
        if isinstance(error, ConnectionRefusedError):
            raise Absent(_explain_connection_error(error, url, timeout)) from error
        if known and isinstance(error, http.client.RemoteDisconnected | ConnectionError):
            raise ClosedConnection from error
        raise MechanismError(_explain_connection_error(error, url, timeout)) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        _close_connection(key)
        raise MechanismError(_explain_connection_error(error, url, timeout)) from error
    return _read_response(response, key, url, timeout, most)


def _set_quick_acknowledgement(connected: socket.socket) -> None:
    """Acknowledge parts of an answer at once, as their sender waits for that: 40 ms an answer."""
    if hasattr(socket, "TCP_QUICKACK"):
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)


def _read_response(
    response: http.client.HTTPResponse, key: Any, url: SplitResult, timeout: float, most: int
) -> ServiceAnswer:
    try:
        body = _read_limited_body(response, most)
    except (OSError, http.client.HTTPException) as error:
        _close_connection(key)
        raise MechanismError(_explain_connection_error(error, url, timeout)) from error
    # What is left of a body that is too long would be read as the beginning of the next answer.
    if body is None or response.will_close:
        _close_connection(key)
    headers = {name.lower(): value for name, value in response.getheaders()}
    if body is not None:
        body = decode_content(body, headers.get("content-encoding", ""), most)
    if body is None:
        raise MechanismError(f"answered with more than {most} bytes (max_bytes)")
    return ServiceAnswer(response.status, response.reason, headers, body)


def _read_limited_body(response: http.client.HTTPResponse, most: int) -> bytes | None:
    """Return the whole body; None where it has more bytes than it may."""
    parts, size = [], 0
    while part := response.read(_PIECE):
        parts.append(part)
        size += len(part)
        if size > most:
            return None
    return b"".join(parts)


def _make_connection(url: SplitResult, timeout: float) -> http.client.HTTPConnection:
    host = url.hostname or ""
    if url.scheme == "https":
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(host, url.port, timeout=timeout, context=context)
    return http.client.HTTPConnection(host, url.port, timeout=timeout)


def _close_connection(key: tuple[int, str, str]) -> None:
    if (connection := _open.pop(key, None)) is not None:
        connection.close()


def _explain_connection_error(error: Exception, url: SplitResult, timeout: float) -> str:
    """Return in words why there is no answer."""
    where = f"{url.scheme}://{url.hostname}:{_get_url_host(url)[2]}"
    match error:
        case ssl.SSLCertVerificationError():
            return (
                f"{where} has no certificate that this machine trusts ({error.verify_message}): "
                "SSL_CERT_FILE names certificates of your own"
            )
        case ssl.SSLError():
            said = error.reason or "no reason given"
            return f"{where} speaks no TLS that this machine accepts ({said}): is it http?"
        case TimeoutError():
            return f"{where} did not answer in {timeout:g} s (request_timeout)"
        case ConnectionRefusedError():
            return f"nothing answers at {where}: is the service started?"
        case OSError() if type(error).__name__ == "gaierror":
            return f"there is no host with the name {url.hostname}"
        case http.client.IncompleteRead():
            return f"{where} broke off in its answer"
    return f"{where} broke off ({type(error).__name__})"
