"""Has psycopg2 wait for at most a second: import patience, then patience.learn()."""

import select
import time

import psycopg2
import psycopg2.extensions

SECONDS = 1


def wait(connection):
    """Waits for the server as psycopg2 would, but not for ever."""
    end = time.monotonic() + SECONDS
    while True:
        state = connection.poll()
        if state == psycopg2.extensions.POLL_OK:
            return
        reads = [connection] if state == psycopg2.extensions.POLL_READ else []
        writes = [connection] if state == psycopg2.extensions.POLL_WRITE else []
        left = end - time.monotonic()
        if left <= 0 or not any(select.select(reads, writes, [], left)):
            raise psycopg2.OperationalError("no answer within %d s" % SECONDS)


def learn():
    psycopg2.extensions.set_wait_callback(wait)
