-- Variables that the command line gives, which are texts.
\set i :i + 1
\set n :base + :i
INSERT INTO note VALUES (:n, ':word', ':base'), (:client_id, ':scale', NULL);
