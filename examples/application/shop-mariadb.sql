-- The same tables on MariaDB and MySQL:
--   mariadb -u "$MYSQL_USER" "$MYSQL_DATABASE" < examples/application/shop-mariadb.sql
DROP TABLE IF EXISTS sale, item;
CREATE TABLE item (id int PRIMARY KEY, stock int NOT NULL);
CREATE TABLE sale (number varchar(40) PRIMARY KEY, item int NOT NULL, pieces int NOT NULL);
INSERT INTO item VALUES (1, 1000), (2, 1000), (3, 1000);
