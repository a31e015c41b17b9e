-- A procedure that commits and takes back by itself.
\set i :i + 1
CALL in_steps(:i * 10, :i * 10 + 3);
