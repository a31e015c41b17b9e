-- Operators bind as in SQL.
\set i :i + 1
\set a 1 + :i * 2 - -3
\set b ~ :i + 1 & 7
\set c NOT :i = 2 AND :i > 1 OR false
\set d :i % 3 IS NULL OR :i % 3 = 0
\set e (1 + :i) * 2 << 2 | 1
\set f - 2 - \
  3 - :i
INSERT INTO note VALUES (:a, ':b :c', ':d :e :f');
