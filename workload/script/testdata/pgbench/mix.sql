-- One of two transactions, by a number that decides.
\set i :i + 1
\set r 1 + permute(:i, 100, 3)
\if :r <= 70
SELECT abalance FROM pgbench_accounts WHERE aid = :r;
\else
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :r;
\endif
