"""Places orders with psycopg2: python3 orders.py [naive|mended]

The naive form tries an order again after any error, under a new number, and waits for answers
for ever. The mended form gives each order its number once, so that the second attempt finds
what the first has done, waits for at most a second, and goes on trying for as long as a failover
takes.
"""

import os
import sys
import time
import uuid

import patience
import psycopg2

MENDED = sys.argv[1:] == ["mended"]


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
    for attempt in range(200 if MENDED else 5):
        try:
            if connection is None or connection.closed:
                connection = psycopg2.connect(os.environ["DATABASE_URL"])
            order(connection, number if MENDED else str(uuid.uuid4()), item, pieces)
            return connection
        except psycopg2.Error as error:
            print("attempt %d: %s" % (attempt + 1, str(error).strip()), file=sys.stderr)
            if connection is not None:
                connection.close()
            time.sleep(min(0.05 * (attempt + 1), 0.5))
    sys.exit("the order was not placed")


if MENDED:
    patience.learn()
open_connection = None
for n in range(6):
    open_connection = place(open_connection, n % 3 + 1, n + 1)
