-- Plans, of which one is carried out.
\set i :i + 1
EXPLAIN UPDATE counter SET value = 100;
EXPLAIN (ANALYZE, TIMING off) UPDATE counter SET value = value + :i WHERE name = 'one';
