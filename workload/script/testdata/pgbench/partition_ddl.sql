-- A partition that is made, filled and taken away.
\set i :i + 1
\set from 1000 * :i
\set to :from + 1000
CREATE TABLE measure_:i PARTITION OF measure FOR VALUES FROM (:from) TO (:to);
INSERT INTO measure VALUES (:from, 'new', 1), (:from + 1, 'new', 2);
\if :i > 2
\set old :i - 2
ALTER TABLE measure DETACH PARTITION measure_:old;
DROP TABLE measure_:old;
\endif
