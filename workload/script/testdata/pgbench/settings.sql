-- Settings of the session that outlast the operation.
SET enable_seqscan = off;
\set i :i + 1
SET my.counter = :i;
INSERT INTO note VALUES (:i, current_setting('my.counter'), current_setting('enable_seqscan'));
SHOW enable_seqscan;
RESET enable_seqscan;
