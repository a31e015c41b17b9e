-- Documents: a value is changed, added and read.
\set i :i + 1
\set id 1 + permute(:i, 50, 11)
UPDATE item SET doc = jsonb_set(doc, '{seen}', to_jsonb((doc->>'seen')::int + 1)) || '{"last": :i}' WHERE id = :id;
UPDATE item SET doc = doc #- '{last}' WHERE doc @> '{"seen": 2}' AND doc ? 'last';
SELECT doc->'n' AS n FROM item WHERE id = :id \gset
INSERT INTO note VALUES (:n, 'n', (SELECT doc->>'seen' FROM item WHERE id = :id));
