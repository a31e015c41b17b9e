-- Procedures, of which one has a body in standard SQL.
\set i :i + 1
CALL add_note(:i, 'called');
BEGIN;
CALL add_note(twice(:i), 'in a transaction');
ROLLBACK;
