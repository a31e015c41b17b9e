/* The loop over SQLite's library, with driver/sqlite's settings, in a new file beside that of the address. */
#include "loop.h"
#include <sqlite3.h>

struct session {
	sqlite3 *db;
	sqlite3_stmt *begin, *commit, *rollback, *move, *journal;
};

static void run(sqlite3 *db, const char *text) {
	if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK) fail(text, sqlite3_errmsg(db));
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *text) {
	sqlite3_stmt *s;
	if (sqlite3_prepare_v3(db, text, -1, SQLITE_PREPARE_PERSISTENT, &s, NULL) != SQLITE_OK) fail(text, sqlite3_errmsg(db));
	return s;
}

static sqlite3 *connect_to(const char *address) {
	sqlite3 *db;
	char path[4096];
	snprintf(path, sizeof path, "%s.rival", address + strlen("sqlite:"));
	if (sqlite3_open(path, &db) != SQLITE_OK) fail("open", sqlite3_errmsg(db));
	run(db, "PRAGMA journal_mode=wal; PRAGMA synchronous=full; PRAGMA busy_timeout=5000");
	return db;
}

/* step runs a statement whose parameters are set, and reads its columns. It is 0 if a constraint has refused it. */
static int step(sqlite3_stmt *s) {
	int code;
	volatile sqlite3_int64 seen = 0;
	while ((code = sqlite3_step(s)) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(s); i++) seen += sqlite3_column_int64(s, i);
	sqlite3_reset(s);
	if (code != SQLITE_DONE && code != SQLITE_CONSTRAINT) fail("step", sqlite3_errstr(code));
	return code == SQLITE_DONE;
}

static void load(const char *address, long accounts) {
	sqlite3 *db = connect_to(address);
	run(db, "CREATE TABLE account (id INTEGER PRIMARY KEY NOT NULL, balance INTEGER NOT NULL, version INTEGER NOT NULL, CHECK (balance >= 0)) STRICT;"
	        "CREATE TABLE transfer (id INTEGER PRIMARY KEY NOT NULL, source INTEGER NOT NULL, destination INTEGER NOT NULL, amount INTEGER NOT NULL,"
	        " source_version INTEGER NOT NULL, destination_version INTEGER NOT NULL) STRICT; BEGIN");
	sqlite3_stmt *insert = prepare(db, "INSERT INTO account VALUES (?, ?, 0)");
	for (long id = 1; id <= accounts; id++) sqlite3_bind_int64(insert, 1, id), sqlite3_bind_int64(insert, 2, opening(accounts, id)), step(insert);
	sqlite3_finalize(insert);
	run(db, "COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
	sqlite3_close(db);
}

static void *client(const char *address) {
	struct session *s = malloc(sizeof *s);
	s->db = connect_to(address);
	s->begin = prepare(s->db, "BEGIN IMMEDIATE"), s->commit = prepare(s->db, "COMMIT"), s->rollback = prepare(s->db, "ROLLBACK");
	s->move = prepare(s->db, "UPDATE account SET balance = balance + ?2, version = version + 1 WHERE id = ?1 RETURNING balance, version");
	s->journal = prepare(s->db, "INSERT INTO transfer (id, source, destination, amount, source_version, destination_version)"
	    " VALUES (?1, ?2, ?3, ?4, (SELECT version FROM account WHERE id = ?2), (SELECT version FROM account WHERE id = ?3))");
	return s;
}

static int move(struct session *s, long long account, long long amount) {
	sqlite3_bind_int64(s->move, 1, account), sqlite3_bind_int64(s->move, 2, amount);
	return step(s->move);
}

static int transfer(void *of, const struct transfer *t) {
	struct session *s = of;
	step(s->begin);
	if (!move(s, t->lower, t->change) || !move(s, t->higher, -t->change)) {
		step(s->rollback);
		return 0;
	}
	sqlite3_bind_int64(s->journal, 1, t->id), sqlite3_bind_int64(s->journal, 2, t->source);
	sqlite3_bind_int64(s->journal, 3, t->destination), sqlite3_bind_int64(s->journal, 4, t->amount);
	if (!step(s->journal)) fail("journal", sqlite3_errmsg(s->db));
	return step(s->commit);
}
