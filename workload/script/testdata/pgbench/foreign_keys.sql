-- Rows that belong to others, and go with them.
\set i :i + 1
BEGIN;
INSERT INTO parent VALUES (:i, 0);
INSERT INTO child SELECT :i, line, line * :i FROM generate_series(1, 3) AS line;
UPDATE parent SET total = (SELECT sum(amount) FROM child WHERE parent = parent.id) WHERE id = :i;
DELETE FROM parent WHERE id = :i - 4;
COMMIT;
