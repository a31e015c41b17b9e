"""Load for assay serve by Locust, to be held against what assay itself says.

    pip install locust faker
    locust -f docs/locustfile.py --headless -H http://127.0.0.1:8080 \
        -u 100 -r 1 -t 2m15s --csv out

Half of the calls write an entity, half read one that was written before, as
assay run entity does by default; WRITE_SHARE changes that. Every entity that is
read is compared with what was written, and one that differs is a failure.
"""

import os
import random
from collections import deque

from faker import Faker
from locust import FastHttpUser, constant, constant_throughput, task

WRITE_SHARE = float(os.environ.get("WRITE_SHARE", "0.5"))
RATE = float(os.environ.get("RATE", "0"))
FAKE = Faker()
# What was acknowledged last, by whichever user: as many as assay remembers.
WRITTEN = deque(maxlen=4096)


def entity():
    return {
        "name": FAKE.name(),
        "age": random.randint(18, 90),
        "description": FAKE.job() + " at " + FAKE.company(),
        "address": FAKE.address().replace("\n", ", "),
        "phone": FAKE.phone_number(),
        "email": FAKE.email(),
    }


class Client(FastHttpUser):
    """One user: the next call when the last has ended, or RATE times a second."""

    wait_time = constant_throughput(RATE) if RATE > 0 else constant(0)

    @task
    def call(self):
        if random.random() < WRITE_SHARE or not WRITTEN:
            self.write()
        else:
            self.read()

    def write(self):
        sent = entity()
        with self.client.post("/entities", json=sent, name="write", catch_response=True) as answer:
            if answer.status_code != 201:
                answer.failure(f"write answered {answer.status_code}")
                return
            sent["id"] = answer.json()["id"]
            WRITTEN.append(sent)

    def read(self):
        want = random.choice(WRITTEN)
        with self.client.get("/entities/" + want["id"], name="read", catch_response=True) as answer:
            if answer.status_code != 200:
                answer.failure(f"read answered {answer.status_code}")
            elif answer.json() != want:
                answer.failure("read gave another entity than was written")
