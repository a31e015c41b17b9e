-- A query that follows a tree upwards.
\set i :i + 1
WITH RECURSIVE up AS (SELECT id, above FROM tree WHERE id = 1 + :i % 31 UNION ALL SELECT t.id, t.above FROM tree t JOIN up ON t.id = up.above)
INSERT INTO note SELECT count(*), 'depth', string_agg(id::text, '>' ORDER BY id) FROM up;
