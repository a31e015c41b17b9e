-- A cursor that is read in parts.
\set i :i + 1
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM item ORDER BY id;
MOVE :i IN c;
FETCH 1 FROM c \gset
FETCH BACKWARD 2 FROM c;
CLOSE c;
INSERT INTO note VALUES (:id, 'fetched', NULL);
COMMIT;
