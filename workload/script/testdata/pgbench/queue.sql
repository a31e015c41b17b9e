-- A worker takes the next job that nobody has, and ends it.
\set i :i + 1
BEGIN;
SELECT id AS job FROM queue WHERE state = 'ready' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED \gset
UPDATE queue SET state = 'taken', worker = :client_id WHERE id = :job;
COMMIT;
\if :job % 5
UPDATE queue SET state = 'done' WHERE id = :job AND worker = :client_id;
\endif
