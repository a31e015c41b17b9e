-- What the scripts beside this file work on. Each is run on tables of its own.
CREATE TABLE pgbench_branches (bid int PRIMARY KEY, bbalance int NOT NULL, filler text);
CREATE TABLE pgbench_tellers (tid int PRIMARY KEY, bid int NOT NULL, tbalance int NOT NULL, filler text);
CREATE TABLE pgbench_accounts (aid int PRIMARY KEY, bid int NOT NULL, abalance int NOT NULL, filler text);
CREATE TABLE pgbench_history (tid int, bid int, aid int, delta int, filler text);
INSERT INTO pgbench_branches VALUES (1, 0, '');
INSERT INTO pgbench_tellers SELECT t, 1, 0, '' FROM generate_series(1, 10) AS t;
INSERT INTO pgbench_accounts SELECT a, 1, 0, '' FROM generate_series(1, 1000) AS a;
CREATE TABLE item (id int PRIMARY KEY, name text NOT NULL, qty int NOT NULL CHECK (qty >= 0), price numeric(10, 2), tags text[] NOT NULL DEFAULT '{}', doc jsonb NOT NULL DEFAULT '{}');
INSERT INTO item SELECT n, 'item ' || n, 1000, n * 1.25, ARRAY['a', 'b' || n], jsonb_build_object('n', n, 'seen', 0) FROM generate_series(1, 50) AS n;
CREATE TABLE note (n bigint, what text, v text);
CREATE TABLE counter (name text PRIMARY KEY, value bigint NOT NULL);
INSERT INTO counter VALUES ('one', 0), ('two', 0);
CREATE TABLE queue (id int PRIMARY KEY, state text NOT NULL, worker int);
INSERT INTO queue SELECT n, 'ready', NULL FROM generate_series(1, 100) AS n;
CREATE TABLE parent (id int PRIMARY KEY, total int NOT NULL DEFAULT 0);
CREATE TABLE child (parent int REFERENCES parent (id) ON DELETE CASCADE, line int, amount int, PRIMARY KEY (parent, line));
CREATE TABLE measure (day int, host text, v double precision) PARTITION BY RANGE (day);
CREATE TABLE measure_low PARTITION OF measure FOR VALUES FROM (0) TO (10);
CREATE TABLE measure_high PARTITION OF measure FOR VALUES FROM (10) TO (1000);
CREATE TABLE tree (id int PRIMARY KEY, above int);
INSERT INTO tree SELECT n, n / 2 FROM generate_series(1, 31) AS n;
CREATE SEQUENCE ticket;
CREATE VIEW cheap AS SELECT id, qty FROM item WHERE price < 20;
CREATE FUNCTION twice(n int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT n * 2; $$;
CREATE FUNCTION grow(which text, by_much bigint) RETURNS bigint LANGUAGE plpgsql AS $body$
DECLARE
  grown bigint;
BEGIN
  UPDATE counter SET value = value + by_much WHERE name = which RETURNING value INTO grown;
  RETURN grown;
END
$body$;
CREATE PROCEDURE in_steps(first int, last int) LANGUAGE plpgsql AS $$
BEGIN
  FOR n IN first..last LOOP
    INSERT INTO note VALUES (n, 'step', NULL);
    IF n % 2 = 0 THEN
      COMMIT;
    ELSE
      ROLLBACK;
    END IF;
  END LOOP;
END $$;
CREATE PROCEDURE add_note(n int, what text) BEGIN ATOMIC
  INSERT INTO note VALUES (n, what, 'atomic');
  UPDATE counter SET value = value + n WHERE name = 'two';
END;
