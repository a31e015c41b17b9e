"""Two workers sell one item with psycopg2: python3 stock.py [naive|mended]

Both forms number each order once and try again. The naive one reads the stock and writes what it
has computed: at READ COMMITTED a sale of the other worker in between is lost. Its first two sales
are at the same time, as in a busy shop: each worker has read before either writes. The mended form
locks the row when it reads it, and waits for at most a second.
"""

import os
import sys
import threading
import time
import uuid

import patience
import psycopg2

LOCK = " FOR UPDATE" if sys.argv[1:] == ["mended"] else ""
HAVE_READ = [threading.Event(), threading.Event()]


def sell(connection, number, worker):
    with connection.cursor() as cursor:
        cursor.execute("SELECT stock FROM item WHERE id = 1" + LOCK)
        stock = cursor.fetchone()[0]
        if not LOCK:  # nobody else could read before this worker has written
            HAVE_READ[worker].set()
            HAVE_READ[1 - worker].wait()
        cursor.execute("INSERT INTO sale (number, item, pieces) VALUES (%s, 1, 1) ON CONFLICT (number) DO NOTHING", (number,))
        if cursor.rowcount == 1:
            cursor.execute("UPDATE item SET stock = %s WHERE id = 1", (stock - 1,))
    connection.commit()


def work(worker):
    connection = None
    for _ in range(4):
        number = str(uuid.uuid4())
        for attempt in range(20):
            try:
                if connection is None or connection.closed:
                    connection = psycopg2.connect(os.environ["DATABASE_URL"])
                sell(connection, number, worker)
                break
            except psycopg2.Error as error:
                print("attempt %d: %s" % (attempt + 1, str(error).strip()), file=sys.stderr)
                if connection is not None:
                    connection.close()
                time.sleep(0.05)
        else:
            os._exit(1)
        time.sleep(0.05)


if LOCK:
    patience.learn()
workers = [threading.Thread(target=work, args=(n,)) for n in range(2)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
