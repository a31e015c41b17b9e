-- A table that a query makes, of which each operation drops the last.
\set i :i + 1
DROP TABLE IF EXISTS made;
CREATE TABLE made AS SELECT id, qty * :i AS n FROM item WHERE id <= :i;
CREATE INDEX made_n ON made (n);
ANALYZE made;
