-- Several statements in one text, which are one transaction.
\set i :i + 1
UPDATE counter SET value = value + 1 WHERE name = 'one' \; UPDATE counter SET value = value + 2 WHERE name = 'two' \; INSERT INTO note VALUES (:i, 'combined', ';') ;
