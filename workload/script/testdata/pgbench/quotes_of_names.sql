-- Names in quotes, with a semicolon in one.
\set i :i + 1
SELECT :i AS "c", "d;e" FROM (VALUES (2)) AS v ("d;e") WHERE false \aset
SELECT :i + 1 AS "c" \gset
CREATE TEMPORARY TABLE IF NOT EXISTS "odd;name" ("a ""b" int);
INSERT INTO "odd;name" VALUES (:c);
INSERT INTO note SELECT count(*), 'odd', max("a ""b")::text FROM "odd;name";
