-- A table is locked, and rows in several ways.
\set i :i + 1
BEGIN;
LOCK TABLE counter IN SHARE ROW EXCLUSIVE MODE;
SELECT value FROM counter WHERE name = 'one' FOR NO KEY UPDATE;
SELECT value FROM counter WHERE name = 'two' FOR KEY SHARE NOWAIT;
UPDATE counter SET value = value + :i;
COMMIT;
