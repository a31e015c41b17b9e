-- Transactions at several levels, begun in several ways.
\set i :i + 1
BEGIN ISOLATION LEVEL REPEATABLE READ;
UPDATE counter SET value = value + 1 WHERE name = 'one';
END;
START TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ WRITE;
UPDATE counter SET value = value + (SELECT value FROM counter WHERE name = 'one') WHERE name = 'two';
COMMIT;
BEGIN READ ONLY;
SELECT sum(value) FROM counter;
COMMIT AND CHAIN;
SELECT 1;
ROLLBACK;
