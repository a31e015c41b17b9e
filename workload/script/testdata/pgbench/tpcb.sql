-- The transaction that pgbench is known for, on accounts that a permutation chooses.
\set i :i + 1
\set aid 1 + permute(:i, 1000, 42)
\set tid 1 + mod(:aid, 10)
\set bid 1
\set delta permute(:i, 10001, 7) - 5000
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta) VALUES (:tid, :bid, :aid, :delta);
END;
