CREATE TABLE rival.loaded (
    id bigint NOT NULL, balance bigint NOT NULL, version bigint NOT NULL,
    CONSTRAINT loaded_not_overdrawn CHECK (balance >= 0)
) WITH (fillfactor = 90);
\copy rival.loaded FROM 'accounts.txt'
ALTER TABLE rival.loaded ADD CONSTRAINT loaded_pkey PRIMARY KEY (id);
VACUUM (ANALYZE) rival.loaded;
