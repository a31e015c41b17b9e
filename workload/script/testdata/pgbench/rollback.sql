-- Every third transaction is taken back.
\set i :i + 1
BEGIN;
UPDATE counter SET value = value + :i WHERE name = 'one';
\if :i % 3 = 0
ROLLBACK;
\else
COMMIT;
\endif
