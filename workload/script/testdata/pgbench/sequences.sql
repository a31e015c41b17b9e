-- A sequence that is set before it is used.
\set i :i + 1
SELECT setval('ticket', :i * 10) AS at \gset
INSERT INTO note VALUES (nextval('ticket'), 'ticket', :at), (currval('ticket'), 'same', lastval());
