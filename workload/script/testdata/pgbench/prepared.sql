-- protocol: prepared
-- The same, prepared once, with a variable that is used twice.
\set i :i + 1
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :i WHERE aid = :i;
INSERT INTO pgbench_history (tid, aid, delta) VALUES (1, :i, :i * 2);
SELECT abalance FROM pgbench_accounts WHERE aid = :i \gset
INSERT INTO note (n, what) VALUES (:abalance::int, 'balance');
END;
