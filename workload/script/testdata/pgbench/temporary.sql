-- A table of the session, which goes with its transaction.
\set i :i + 1
BEGIN;
CREATE TEMPORARY TABLE scratch (n int, v text) ON COMMIT DROP;
INSERT INTO scratch SELECT g, g || ':i' FROM generate_series(1, :i) AS g;
INSERT INTO note SELECT count(*), 'scratch', max(v) FROM scratch;
COMMIT;
