-- A table that is emptied now and then.
\set i :i + 1
\if :i % 4 = 0
TRUNCATE note;
\endif
INSERT INTO note VALUES (:i, 'since', NULL);
