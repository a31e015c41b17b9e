-- Locks that a session keeps from one statement to the next.
\set i :i + 1
SELECT pg_advisory_lock(:i);
UPDATE counter SET value = value + 1 WHERE name = 'one';
SELECT pg_advisory_unlock(:i) AS freed \gset
SELECT pg_try_advisory_xact_lock(7, :i) AS taken \gset
INSERT INTO note VALUES (:i, ':freed', ':taken');
