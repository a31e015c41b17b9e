/* The loop over MariaDB's library: a transfer is one text, as driver/mysql sends it. */
#include "loop.h"
#include <mysql.h>

static MYSQL *connect_to(const char *address) {
	char user[64], password[64], host[64];
	unsigned port;
	if (sscanf(address, "mysql://%63[^:]:%63[^@]@%63[^:]:%u/", user, password, host, &port) != 4) fail("address", "none of a cluster with one node");
	MYSQL *c = mysql_init(NULL);
	if (!c) fail("connect", "no memory");
	if (!mysql_real_connect(c, host, user, password, NULL, port, NULL, CLIENT_MULTI_STATEMENTS)) fail("connect", mysql_error(c));
	return c;
}

/* run sends a text and reads all answers. It is 0 if a constraint (4025 of MariaDB, 3819 of MySQL) or a deadlock has refused it. */
static int run(MYSQL *c, const char *text, size_t length) {
	volatile long long seen = 0;
	int failed = mysql_real_query(c, text, length);
	while (!failed) {
		MYSQL_RES *rows = mysql_use_result(c);
		if (rows) {
			for (MYSQL_ROW row; (row = mysql_fetch_row(rows));)
				for (unsigned i = 0; i < mysql_num_fields(rows); i++) seen += atoll(row[i]);
			if (mysql_errno(c)) fail("row", mysql_error(c));
			mysql_free_result(rows);
		}
		if ((failed = mysql_next_result(c)) < 0) return 1;
	}
	if (mysql_errno(c) != 4025 && mysql_errno(c) != 3819 && mysql_errno(c) != 1213) fail("query", mysql_error(c));
	return 0;
}

static void load(const char *address, long accounts) {
	MYSQL *c = connect_to(address);
	char *text = malloc(2000 + 40 * accounts), *end = text + sprintf(text,
	    "DROP DATABASE IF EXISTS rival; CREATE DATABASE rival;"
	    "CREATE TABLE rival.account (id BIGINT NOT NULL PRIMARY KEY, balance BIGINT NOT NULL, version BIGINT NOT NULL, CHECK (balance >= 0)) ENGINE=InnoDB;"
	    "CREATE TABLE rival.transfer (id BIGINT NOT NULL PRIMARY KEY, source BIGINT NOT NULL, destination BIGINT NOT NULL, amount BIGINT NOT NULL,"
	    " source_version BIGINT NOT NULL, destination_version BIGINT NOT NULL) ENGINE=InnoDB; INSERT INTO rival.account VALUES ");
	for (long id = 1; id <= accounts; id++) end += sprintf(end, "%s(%ld,%lld,0)", id == 1 ? "" : ",", id, opening(accounts, id));
	if (!run(c, text, end - text)) fail("load", mysql_error(c));
	mysql_close(c);
	free(text);
}

static void *client(const char *address) { return connect_to(address); }

static int transfer(void *c, const struct transfer *t) {
	char text[1000];
	int length = snprintf(text, sizeof text, "START TRANSACTION;"
	    "UPDATE rival.account SET balance = balance + %lld, version = version + 1 WHERE id = %lld;"
	    "UPDATE rival.account SET balance = balance + %lld, version = version + 1 WHERE id = %lld;"
	    "INSERT INTO rival.transfer (id, source, destination, amount, source_version, destination_version) VALUES (%lld, %lld, %lld, %lld, "
	    "(SELECT version FROM rival.account WHERE id = %lld), (SELECT version FROM rival.account WHERE id = %lld));"
	    "SELECT id, balance, version FROM rival.account WHERE id IN (%lld, %lld);COMMIT",
	    t->change, t->lower, -t->change, t->higher, t->id, t->source, t->destination, t->amount, t->source, t->destination, t->lower, t->higher);
	if (run(c, text, length)) return 1;
	run(c, "ROLLBACK", strlen("ROLLBACK"));
	return 0;
}
