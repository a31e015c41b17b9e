-- SET LOCAL and SET CONSTRAINTS hold to the end of the transaction.
\set i :i + 1
BEGIN;
SET LOCAL work_mem = '8MB';
SET CONSTRAINTS ALL IMMEDIATE;
INSERT INTO note VALUES (:i, 'inside', current_setting('work_mem'));
END;
INSERT INTO note SELECT :i, 'outside', (current_setting('work_mem') = '8MB')::text;
