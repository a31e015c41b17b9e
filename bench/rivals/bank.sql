-- The bank's tables as assay makes them, with 100,000 accounts, for pgbench.
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS rival CASCADE;
CREATE SCHEMA rival;
CREATE TABLE rival.account (
    id bigint NOT NULL, balance bigint NOT NULL, version bigint NOT NULL,
    CONSTRAINT account_not_overdrawn CHECK (balance >= 0)
) WITH (fillfactor = 90);
INSERT INTO rival.account
    SELECT id, CASE WHEN id <= 100 THEN 1000000000000 ELSE 100000 END, 0 FROM generate_series(1, 100000) AS id;
ALTER TABLE rival.account ADD CONSTRAINT account_pkey PRIMARY KEY (id);
CREATE TABLE rival.transfer (
    id bigint CONSTRAINT transfer_pkey PRIMARY KEY, source bigint NOT NULL, destination bigint NOT NULL,
    amount bigint NOT NULL, source_version bigint NOT NULL, destination_version bigint NOT NULL
);
VACUUM (ANALYZE) rival.account;
