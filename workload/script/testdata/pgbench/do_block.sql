-- A block of a procedural language, with a variable of pgbench in it.
\set i :i + 1
DO $$
DECLARE
  n int := :i;
BEGIN
  FOR k IN 1..n % 4 LOOP
    INSERT INTO note VALUES (n, 'do', k::text);
  END LOOP;
  IF n % 3 = 0 THEN
    RAISE NOTICE 'n is %; and that is all', n;
  END IF;
END
$$;
