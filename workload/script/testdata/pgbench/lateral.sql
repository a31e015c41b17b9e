-- A join whose right side follows from the left, and DISTINCT ON.
\set i :i + 1
INSERT INTO note SELECT DISTINCT ON (q.id) q.id, 'lateral', x.line::text FROM queue q CROSS JOIN LATERAL (SELECT q.id * line AS line FROM generate_series(1, 3) AS line) AS x WHERE q.id = :i ORDER BY q.id, x.line DESC;
