-- Windows over rows.
\set i :i + 1
UPDATE item SET qty = qty - 1 WHERE id = 1 + :i % 50;
INSERT INTO note SELECT id, 'rank', rank || ' ' || behind FROM (
  SELECT id, rank() OVER (ORDER BY qty, id) AS rank, coalesce(lag(qty) OVER w, 0) AS behind FROM item WINDOW w AS (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
) AS ranked WHERE rank = 1 + :i % 5;
