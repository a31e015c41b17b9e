-- Statements that the script prepares itself.
\set i :i + 1
PREPARE put (int, text) AS INSERT INTO note VALUES ($1, $2, $$prepared$$);
EXECUTE put (:i, 'one');
EXECUTE put (:i + 1, 'two');
DEALLOCATE put;
