-- protocol: extended
-- Variables that are sent as parameters.
\set i :i + 1
\set half :i / 2.0
INSERT INTO note VALUES (:i, :word, :half::text);
UPDATE item SET price = price + :half WHERE id = :i % 50 + 1;
SELECT qty, name FROM item WHERE id = :i % 50 + 1 \gset
INSERT INTO note VALUES (:qty, :name, :word || :word);
