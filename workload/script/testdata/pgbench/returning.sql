-- What a statement has changed.
\set i :i + 1
INSERT INTO parent VALUES (:i, :i * :i) RETURNING id AS made, total \gset
UPDATE parent SET total = total + 1 WHERE id = :made RETURNING total AS changed \gset
DELETE FROM parent WHERE total = :changed AND id % 2 = 0 RETURNING id;
INSERT INTO note VALUES (:made, ':total', ':changed');
