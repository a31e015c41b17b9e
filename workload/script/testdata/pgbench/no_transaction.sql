-- Statements that commit one by one, and then a transaction.
\set i :i + 1
SELECT count(*) FROM pgbench_tellers ;
UPDATE pgbench_tellers SET tbalance = tbalance + 1 WHERE tid = 1 + :i % 10;
BEGIN;
SELECT * FROM pgbench_tellers LIMIT 600;
INSERT INTO pgbench_history (tid, delta) VALUES (1 + :i % 10, :i);
END;
