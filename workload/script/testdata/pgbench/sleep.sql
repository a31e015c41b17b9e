-- Pauses within a transaction.
\set i :i + 1
\set pause 1 + :i % 3
BEGIN;
UPDATE counter SET value = value + :pause WHERE name = 'one';
\sleep 1 ms
\sleep :pause ms
\sleep 100us
END;
