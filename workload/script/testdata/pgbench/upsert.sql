-- A row that is inserted or changed.
\set i :i + 1
\set id 40 + :i % 20
INSERT INTO item (id, name, qty) VALUES (:id, 'new :id', 1) ON CONFLICT (id) DO UPDATE SET qty = item.qty + excluded.qty, name = item.name || '+';
