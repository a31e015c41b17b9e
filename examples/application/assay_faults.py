"""Faults for a test of your own, such as with pytest. Copy this file beside your tests, and start the proxy:

    assay app --db ADDRESS --serve 127.0.0.1:7000 --control 127.0.0.1:7001

have the application connect to port 7000 with its own user and password, and write

    def test_a_lost_answer():
        with assay_faults.cut_after_commit("INSERT INTO sale"):
            place_order()
        assert orders() == 1
"""

import contextlib
import json
import os
import urllib.request


def call(method, path, body=None):
    address = os.environ.get("ASSAY_CONTROL", "http://127.0.0.1:7001") + path
    data = None if body is None else json.dumps(body).encode()
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # whatever http_proxy says
    with direct.open(urllib.request.Request(address, data=data, method=method), timeout=10) as answer:
        return json.load(answer)


@contextlib.contextmanager
def fault(action, at="commit", containing="", time=1):
    """Does it once within the block, and fails if the application did not come to the place."""
    call("PUT", "/fault", {"action": action, "at": at, "containing": containing, "time": time})
    try:
        yield
    except BaseException:
        call("DELETE", "/fault")
        raise
    if not call("DELETE", "/fault")["met"]:
        hint = "; with autocommit, use at=\"statement\"" if at == "commit" else ""
        raise AssertionError("the application came to no such %s: %r%s" % (at, containing, hint))


def cut_after_commit(containing=""):
    return fault("answer-lost", "commit", containing)


def cut_before_commit(containing=""):
    return fault("reset", "commit", containing)


def transactions():
    """What has passed so far."""
    return call("GET", "/transactions")
