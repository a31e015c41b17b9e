-- Notifications, which arrive beside the answers.
\set i :i + 1
LISTEN news;
NOTIFY news, 'operation :i';
SELECT pg_notify('news', ':i');
UNLISTEN *;
UPDATE counter SET value = value + 1 WHERE name = 'one';
