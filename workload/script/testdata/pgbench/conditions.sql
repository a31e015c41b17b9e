-- Nested conditions, with \elif and with a branch that does nothing.
\set i :i + 1
\if :i % 4 = 0
INSERT INTO note VALUES (:i, 'four', NULL);
\elif :i % 3 = 0
  \if :i % 2 = 1
INSERT INTO note VALUES (:i, 'three', 'odd');
  \else
INSERT INTO note VALUES (:i, 'three', 'even');
  \endif
\elif :i = 5
\else
INSERT INTO note VALUES (:i, 'other', NULL);
\endif
