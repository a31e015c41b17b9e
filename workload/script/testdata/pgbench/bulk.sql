-- Many rows in one statement.
\set i :i + 1
INSERT INTO note SELECT g, 'bulk', md5(g::text || ':i') FROM generate_series(1, 20) AS g;
UPDATE note SET v = left(v, 8) WHERE n <= 10;
DELETE FROM note WHERE n % 7 = 0;
