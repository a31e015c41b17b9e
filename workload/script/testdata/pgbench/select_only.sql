-- A query alone, whose answer nobody wants, without a semicolon at the end.
\set aid random(1, 1000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid
