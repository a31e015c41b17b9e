-- Arrays that grow and shrink.
\set i :i + 1
\set id 1 + :i % 10
UPDATE item SET tags = tags || ARRAY['t:i', 'u'] WHERE id = :id;
UPDATE item SET tags = array_remove(tags, 'u') WHERE 'b:id' = ANY (tags) AND cardinality(tags) > 5;
INSERT INTO note SELECT :i, t, o::text FROM item, unnest(tags) WITH ORDINALITY AS u (t, o) WHERE id = :id AND o = 1;
