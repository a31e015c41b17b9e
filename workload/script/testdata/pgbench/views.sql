-- Rows that are changed through a view.
\set i :i + 1
UPDATE cheap SET qty = qty + :i WHERE id = 1 + :i % 20;
INSERT INTO note SELECT :i, 'cheap', count(*)::text FROM cheap WHERE qty > 1000;
