-- Two answers with prefixes, and a NULL, which becomes an empty text.
\set i :i + 1
SELECT value AS v, NULL AS nothing FROM counter WHERE name = 'one' \gset one_
SELECT value + :one_v AS v FROM counter WHERE name = 'two' \gset two_
UPDATE counter SET value = :two_v + :i WHERE name = 'two';
UPDATE counter SET value = value + 1 WHERE name = 'one';
INSERT INTO note VALUES (:i, 'nothing', '<:one_nothing>');
