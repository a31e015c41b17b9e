-- A function that is made anew each time, with semicolons in its body.
\set i :i + 1
CREATE OR REPLACE FUNCTION now_is() RETURNS int BEGIN ATOMIC SELECT 1; SELECT CASE WHEN true THEN :i END; END;
INSERT INTO note SELECT now_is(), 'function', NULL;
