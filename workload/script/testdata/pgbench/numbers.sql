-- Integers, decimals and how they are written into statements.
\set i :i + 1
\set third 1.0 / 3 * :i
\set big 1e20 * :i
\set small .00001 * :i
\set whole 3.0 * :i
\set rounded int(7.5 + :i)
\set left (:i << 40) | 5 # 3
INSERT INTO note VALUES (:i, 'third', ':third'), (:i, 'big', ':big'), (:i, 'small', ':small'), (:i, 'whole', ':whole'), (:i, 'rounded', ':rounded'), (:i, 'left', ':left');
