-- TPC-B in one statement: a query whose parts write.
\set i :i + 1
\set aid 1 + permute(:i, 1000, 99)
\set delta :i % 17 - 8
WITH account AS (UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid RETURNING abalance),
  teller AS (UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = 3 RETURNING bid),
  branch AS (UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = (SELECT bid FROM teller))
INSERT INTO pgbench_history SELECT 3, bid, :aid, :delta, (SELECT abalance::text FROM account) FROM teller;
