-- Casts and slices of arrays, whose colons are no variables.
\set i :i + 1
\set n :i % 3 + 1
INSERT INTO note SELECT :i, x[1:2]::text, x[:n:3]::text FROM (SELECT ARRAY[1, 2, :i]::int[] AS x) AS y;
