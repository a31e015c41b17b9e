"""Places orders with Django: python3 orders_django.py [naive|mended]

The naive form tries again after any error, under a new number, and waits for ever. The mended form
gives each order its number once, asks whether it is there, waits for a second, leaves a connection
that has failed, and goes on trying for as long as a failover takes.
"""

import os
import sys
import time
import uuid
from urllib.parse import unquote, urlsplit

import django
import patience
from django.conf import settings
from django.db import Error, connection, models, transaction

MENDED = sys.argv[1:] == ["mended"]
url = urlsplit(os.environ["DATABASE_URL"])
settings.configure(DATABASES={"default": {
    "ENGINE": "django.db.backends.postgresql", "NAME": url.path[1:], "USER": url.username, "PASSWORD": unquote(url.password or ""),
    "HOST": url.hostname, "PORT": url.port,
}})
django.setup()


class Item(models.Model):
    id = models.IntegerField(primary_key=True)
    stock = models.IntegerField()

    class Meta:
        app_label, db_table = "shop", "item"


class Sale(models.Model):
    number = models.TextField(primary_key=True)
    item = models.IntegerField()
    pieces = models.IntegerField()

    class Meta:
        app_label, db_table = "shop", "sale"


@transaction.atomic
def order(number, item, pieces):
    placed = True
    if MENDED:
        _, placed = Sale.objects.get_or_create(number=number, defaults={"item": item, "pieces": pieces})
    else:
        Sale.objects.create(number=number, item=item, pieces=pieces)
    if placed:
        Item.objects.filter(id=item).update(stock=models.F("stock") - pieces)


def place(item, pieces):
    number = str(uuid.uuid4())
    for attempt in range(200 if MENDED else 5):
        try:
            return order(number if MENDED else str(uuid.uuid4()), item, pieces)
        except Error as error:
            print("attempt %d: %s" % (attempt + 1, error), file=sys.stderr)
            connection.close()
            time.sleep(min(0.05 * (attempt + 1), 0.5))
    sys.exit("the order was not placed")


if MENDED:
    patience.learn()
for n in range(6):
    place(n % 3 + 1, n + 1)
