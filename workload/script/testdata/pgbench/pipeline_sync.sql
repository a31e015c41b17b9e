-- protocol: prepared
-- A pipeline in parts, with a transaction in it.
\set i :i + 1
\startpipeline
BEGIN;
UPDATE counter SET value = value + 1 WHERE name = 'one';
COMMIT;
\syncpipeline
UPDATE counter SET value = value + 2 WHERE name = 'two';
\endpipeline
