-- The tables of pgbench -i, for SQLite, PostgreSQL and MariaDB; --define scale=1.
CREATE TABLE pgbench_branches (bid int PRIMARY KEY, bbalance int, filler char(88));
CREATE TABLE pgbench_tellers (tid int PRIMARY KEY, bid int, tbalance int, filler char(84));
CREATE TABLE pgbench_accounts (aid int PRIMARY KEY, bid int, abalance int, filler char(84));
CREATE TABLE pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
INSERT INTO pgbench_branches (bid, bbalance)
  WITH RECURSIVE digit (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM digit WHERE n < :scale) SELECT n, 0 FROM digit;
INSERT INTO pgbench_tellers (tid, bid, tbalance)
  WITH RECURSIVE digit (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM digit WHERE n < 9)
  SELECT (bid - 1) * 10 + n + 1, bid, 0 FROM pgbench_branches CROSS JOIN digit;
INSERT INTO pgbench_accounts (aid, bid, abalance, filler)
  WITH RECURSIVE digit (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM digit WHERE n < 9)
  SELECT (b.bid - 1) * 100000 + a.n * 10000 + c.n * 1000 + d.n * 100 + e.n * 10 + f.n + 1, b.bid, 0, ''
  FROM pgbench_branches AS b CROSS JOIN digit AS a CROSS JOIN digit AS c CROSS JOIN digit AS d CROSS JOIN digit AS e CROSS JOIN digit AS f;
