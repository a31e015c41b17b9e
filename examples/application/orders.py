"""Places orders with psycopg2: python3 orders.py [naive|mended]

The naive form tries an order again after any error, under a new number, and waits for answers
for ever. The mended form gives each order its number once, so that the second attempt finds
what the first has done, and waits for at most a second.
"""

import os
import select
import sys
import time
import uuid

import psycopg2
import psycopg2.extensions

MENDED = sys.argv[1:] == ["mended"]
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


def order(connection, number, item, pieces):
    with connection.cursor() as cursor:
        again = " ON CONFLICT (number) DO NOTHING" if MENDED else ""
        cursor.execute("INSERT INTO sale (number, item, pieces) VALUES (%s, %s, %s)" + again, (number, item, pieces))
        if cursor.rowcount == 1:
            cursor.execute("UPDATE item SET stock = stock - %s WHERE id = %s", (pieces, item))
    connection.commit()


def place(connection, item, pieces):
    """Places an order, and returns the connection for the next."""
    number = str(uuid.uuid4())
    for attempt in range(5):
        try:
            if connection is None or connection.closed:
                connection = psycopg2.connect(os.environ["DATABASE_URL"])
            order(connection, number if MENDED else str(uuid.uuid4()), item, pieces)
            return connection
        except psycopg2.Error as error:
            print("attempt %d: %s" % (attempt + 1, str(error).strip()), file=sys.stderr)
            if connection is not None:
                connection.close()
            time.sleep(0.05)
    sys.exit("the order was not placed")


if MENDED:
    psycopg2.extensions.set_wait_callback(wait)
open_connection = None
for n in range(6):
    open_connection = place(open_connection, n % 3 + 1, n + 1)
