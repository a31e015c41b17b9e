-- What only the first operation does: variables stay with their client.
\set i :i + 1
\if :i = 1
CREATE TABLE first (n int);
\endif
INSERT INTO first VALUES (:i);
