-- An answer that the next statement needs.
\set i :i + 1
\set aid 1 + :i % 20
BEGIN;
SELECT abalance, aid AS which FROM pgbench_accounts WHERE aid = :aid FOR UPDATE \gset
\set next :abalance * 2 + :which
UPDATE pgbench_accounts SET abalance = :next WHERE aid = :which;
COMMIT;
