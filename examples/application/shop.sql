-- The tables of the sample applications, as they are before each run:
--   psql -q -f examples/application/shop.sql
DROP TABLE IF EXISTS sale, item;
CREATE TABLE item (id int PRIMARY KEY, stock int NOT NULL);
CREATE TABLE sale (number text PRIMARY KEY, item int NOT NULL, pieces int NOT NULL);
INSERT INTO item SELECT id, 1000 FROM generate_series(1, 3) AS id;
