-- Combined statements, of which each leaves its last row.
\set i :i + 1
SELECT 1 AS a, :i AS b \; SELECT 2 AS c WHERE false \; SELECT generate_series(1, 3) AS d \aset all_
INSERT INTO note VALUES (:all_a + :all_b, 'aset', ':all_d');
