"""Asking a server for a file: one connection, a name of our own, patience, and no surprises."""

from __future__ import annotations

import email.utils
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, Any

import failgym

__all__ = ["Client", "FetchError", "Missing", "Stopped"]

RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers after which the same is asked again, later."""
MISSING = frozenset({404, 410})
ANSWERS = frozenset({200, 206})
"""Answers that hold a file, or a part of it."""


class FetchError(ValueError):
    """A file that could not be fetched; a line that names its address."""


class Missing(FetchError):
    """The server has no such file."""


class Stopped(Exception):
    """A connection that ended, or an answer that says: later.

    Args:
        reason: in words.
        wait: for how long the server asks us to wait [s].
    """

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows to http and https only, and never from the second to the first."""

    def http_error_302(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any
    ) -> Any:
        """The answer to the request that follows; without one no connection is left open."""
        try:
            return super().http_error_302(req, fp, code, msg, headers)
        except (ValueError, OverflowError):
            fp.close()
            raise

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Any,
        newurl: str,
    ) -> urllib.request.Request | None:
        """The request that follows. Raises FetchError for one that is not wanted."""
        scheme = newurl.partition(":")[0].lower()
        if scheme not in ("http", "https") or (req.type == "https" and scheme != "https"):
            raise FetchError(f"{req.full_url}: redirects to {newurl}, which is not followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@dataclass(frozen=True)
class Client:
    """Asks servers, and waits between two tries.

    Args:
        agent: what we call ourselves.
        timeout: for a server that says nothing [s].
        tries: without a byte more than before, until it is given up.
        pause: before the second try [s]; twice as long before each further one.
        most_pause: of these [s].
        most_wait: a server that asks for more is not waited for [s].
        sleep: waits [s].
    """

    agent: str = f"failgym/{failgym.__version__} (trace fetch)"
    timeout: float = 60.0
    tries: int = 6
    pause: float = 1.0
    most_pause: float = 60.0
    most_wait: float = 900.0
    sleep: Callable[[float], None] = time.sleep

    def open(self, url: str, headers: Mapping[str, str], method: str = "GET") -> Any:
        """The answer to a request, whose status is 200, 206 or 416; to be closed.

        Args:
            url: whom to ask.
            headers: of the request, beside our name.
            method: `HEAD` asks for what is said of a file, without it.

        Raises:
            Missing: if there is no such file.
            FetchError: for any other answer that will not change.
            Stopped: if it is worth asking again.
        """
        named = {"User-Agent": self.agent, **headers}
        request = urllib.request.Request(url, headers=named, method=method)
        opener = urllib.request.build_opener(_Redirects)
        try:
            answer = opener.open(request, timeout=self.timeout)
            if answer.status in ANSWERS:
                return answer
            with answer:
                said = f"{url}: the server says {answer.status} {answer.reason}"
                raise FetchError(f"{said}, expected a file")
        except urllib.error.HTTPError as error:
            if error.code == 416:
                return error
            with error:
                raise self._refused(url, error) from None
        except FetchError:
            raise
        except (http.client.InvalidURL, ValueError, OverflowError) as error:
            # `Location` is no address; or what a file's version was called is no header
            said = str(error) or type(error).__name__
            raise FetchError(
                f"{url}: redirects to an address that cannot be fetched: {said}"
            ) from error
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            reason = getattr(error, "reason", error)
            raise Stopped(str(reason) or type(error).__name__) from error

    def wait(self, stopped: Stopped, tried: int) -> None:
        """Wait before the next try.

        Args:
            stopped: why there is another.
            tried: how often it was tried, 1 or more.
        """
        pause = min(self.pause * 2.0 ** (tried - 1), self.most_pause)
        self.sleep(max(pause, stopped.wait))

    def _refused(self, url: str, error: urllib.error.HTTPError) -> Exception:
        said = f"{url}: the server says {error.code} {error.reason}"
        if error.code in MISSING:
            return Missing(said)
        if error.code not in RETRIED:
            return FetchError(said)
        wait = _seconds(error.headers.get("Retry-After"))
        if wait > self.most_wait:
            return FetchError(f"{said}, and to come back in {wait:,.0f} s: do so")
        return Stopped(f"{error.code} {error.reason}", wait)


def _seconds(told: str | None) -> float:
    """What `Retry-After` says: seconds, or a date; 0 if it says nothing."""
    if told is None:
        return 0.0
    try:
        if told.strip().isdecimal():
            return float(told)
        moment = email.utils.parsedate_to_datetime(told)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max((moment - datetime.now(UTC)).total_seconds(), 0.0)
    except (ValueError, OverflowError, TypeError, IndexError):  # a date of no calendar
        return 0.0
