-- What comes behind a savepoint is taken back, and what comes before stays.
\set i :i + 1
BEGIN;
INSERT INTO note VALUES (:i, 'before', NULL);
SAVEPOINT here;
INSERT INTO note VALUES (:i, 'behind', NULL);
\if mod(:i, 2)
ROLLBACK TO SAVEPOINT here;
\else
RELEASE here;
\endif
INSERT INTO note VALUES (:i, 'last', NULL);
END;
