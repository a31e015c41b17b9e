-- A queue whose jobs are deleted as they are taken.
\set i :i + 1
WITH next AS (DELETE FROM queue WHERE id = (SELECT id FROM queue ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING id)
INSERT INTO note SELECT id, 'taken', ':i' FROM next;
