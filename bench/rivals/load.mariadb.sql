CREATE DATABASE rival;
CREATE TABLE rival.loaded (
    id BIGINT NOT NULL, balance BIGINT NOT NULL, version BIGINT NOT NULL,
    PRIMARY KEY (id), CONSTRAINT loaded_not_overdrawn CHECK (balance >= 0)
) ENGINE=InnoDB;
LOAD DATA LOCAL INFILE 'accounts.txt' INTO TABLE rival.loaded;
ANALYZE NO_WRITE_TO_BINLOG TABLE rival.loaded;
