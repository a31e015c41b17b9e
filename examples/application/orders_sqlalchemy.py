"""Places orders with SQLAlchemy: python3 orders_sqlalchemy.py [naive|mended]

The naive form tries again after any error, under a new number, and waits for ever. The mended form
gives each order its number once, waits for a second, goes on trying for as long as a failover takes,
and has the pool forget its connections after an error: one of them may lead to a server that takes no
writes any more.
"""

import os
import sys
import time
import uuid

import patience
from sqlalchemy import Column, Integer, MetaData, Table, Text, create_engine, exc, update
from sqlalchemy.dialects.postgresql import insert

MENDED = sys.argv[1:] == ["mended"]
tables = MetaData()
item = Table("item", tables, Column("id", Integer, primary_key=True), Column("stock", Integer))
sale = Table("sale", tables, Column("number", Text, primary_key=True), Column("item", Integer), Column("pieces", Integer))
engine = create_engine(os.environ["DATABASE_URL"].replace("postgres://", "postgresql://", 1))


def order(number, of, pieces):
    with engine.begin() as connection:
        placed = insert(sale).values(number=number, item=of, pieces=pieces)
        if MENDED:
            placed = placed.on_conflict_do_nothing()
        if connection.execute(placed).rowcount == 1:
            connection.execute(update(item).where(item.c.id == of).values(stock=item.c.stock - pieces))


def place(of, pieces):
    number = str(uuid.uuid4())
    for attempt in range(200 if MENDED else 5):
        try:
            return order(number if MENDED else str(uuid.uuid4()), of, pieces)
        except exc.DBAPIError as error:
            print("attempt %d: %s" % (attempt + 1, error), file=sys.stderr)
            if MENDED:
                engine.dispose()
            time.sleep(min(0.05 * (attempt + 1), 0.5))
    sys.exit("the order was not placed")


if MENDED:
    patience.learn()
for n in range(6):
    place(n % 3 + 1, n + 1)
