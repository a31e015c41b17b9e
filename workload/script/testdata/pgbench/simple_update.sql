-- pgbench's simple update, with COMMIT.
\set i :i + 1
\set aid 1 + permute(:i, 1000, 5)
\set delta :i * 3
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
INSERT INTO pgbench_history (tid, bid, aid, delta) VALUES (1, 1, :aid, :delta);
COMMIT;
