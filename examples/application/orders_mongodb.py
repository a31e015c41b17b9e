"""Places orders with PyMongo: python3 orders_mongodb.py [naive|mended]

The naive form leaves all settings as they are: it waits for answers for ever. It tries an order
again after any error, under a new number, though PyMongo does not say of update_many whether it
was done. The mended form waits for a second, and makes each order one transaction under a number
that it keeps, which PyMongo tries again as a whole.
"""

import os
import sys
import time
import uuid

import pymongo
import pymongo.errors

MENDED = sys.argv[1:] == ["mended"]
client = pymongo.MongoClient(os.environ["MONGODB_URI"], **({"socketTimeoutMS": 1000} if MENDED else {}))
shop = client.get_default_database()


def order(number, items, pieces, session=None):
    shop.sale.insert_one({"_id": number, "items": items, "pieces": pieces}, session=session)
    shop.item.update_many({"_id": {"$in": items}}, {"$inc": {"stock": -pieces}}, session=session)


def once(number, items, pieces):
    """Places an order that may have been placed before."""
    with client.start_session() as session:
        try:
            session.with_transaction(lambda s: order(number, items, pieces, s))
        except pymongo.errors.DuplicateKeyError:
            pass


def place(items, pieces):
    number = str(uuid.uuid4())
    for attempt in range(5):
        try:
            if MENDED:
                return once(number, items, pieces)
            return order(str(uuid.uuid4()), items, pieces)
        except pymongo.errors.PyMongoError as error:
            print("attempt %d: %s" % (attempt + 1, error), file=sys.stderr)
            time.sleep(0.05)
    sys.exit("the order was not placed")


for n in range(6):
    place([n % 3 + 1, (n + 1) % 3 + 1], n + 1)
