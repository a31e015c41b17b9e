-- Aggregates by sets of groups.
\set i :i + 1
UPDATE pgbench_accounts SET abalance = :i, bid = 1 + :i % 3 WHERE aid % 100 = :i % 100;
DELETE FROM note WHERE what = 'sum';
INSERT INTO note SELECT bid, 'sum', sum(abalance) FILTER (WHERE abalance > 2) FROM pgbench_accounts GROUP BY ROLLUP (bid) HAVING count(*) > 1;
