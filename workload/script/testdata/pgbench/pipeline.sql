-- protocol: extended
-- Statements that are sent without waiting for answers.
\set i :i + 1
\startpipeline
UPDATE counter SET value = value + :i WHERE name = 'one';
SELECT value FROM counter WHERE name = 'one';
INSERT INTO note (n, what) VALUES (:i, 'piped');
\endpipeline
