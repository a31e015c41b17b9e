-- Dates and intervals with colons in their texts.
\set i :i + 1
INSERT INTO note VALUES (:i, (timestamp '2024-02-28 23:59:30' + :i * interval '1 hour 10 min')::text, extract(dow FROM date '2024-01-01' + :i)::text);
