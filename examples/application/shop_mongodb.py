"""Empties the shop of orders_mongodb.py: python3 shop_mongodb.py"""

import os

import pymongo

shop = pymongo.MongoClient(os.environ["MONGODB_URI"]).get_default_database()
shop.sale.delete_many({})
shop.item.delete_many({})
shop.item.insert_many({"_id": n, "stock": 1000} for n in (1, 2, 3))
