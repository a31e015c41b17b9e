-- Variables in quotes, and what only looks like one.
\set i :i + 1
INSERT INTO note VALUES (:i, 'user-:i', $$:i and $1 $$), (:i, '12:30:45', 'a::i :other'), (:i, E'it\'s; :i', "left"(':i-right', 1));
