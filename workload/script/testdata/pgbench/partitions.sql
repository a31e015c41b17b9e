-- Rows that go into partitions, and from one into another.
\set i :i + 1
INSERT INTO measure VALUES (:i, 'host :i', :i / 4.0);
UPDATE measure SET day = day + 9 WHERE day = :i - 3;
DELETE FROM measure WHERE day > 20 AND v < 3;
