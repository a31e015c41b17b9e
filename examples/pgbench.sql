-- The transaction of pgbench's built-in script (TPC-B, sort of), with what must hold.
-- assay: invariant balances empty: SELECT sum(bbalance) FROM pgbench_branches HAVING sum(bbalance) <> (SELECT sum(tbalance) FROM pgbench_tellers) OR sum(bbalance) <> (SELECT sum(abalance) FROM pgbench_accounts)
-- assay: invariant history empty: SELECT sum(bbalance) FROM pgbench_branches HAVING sum(bbalance) <> (SELECT coalesce(sum(delta), 0) FROM pgbench_history)
-- assay: counted pgbench_history:
\set aid random(1, 100000 * :scale)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
COMMIT;
