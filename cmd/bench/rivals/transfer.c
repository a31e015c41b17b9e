/* The transfers of workload bank by one client, as a plain loop over SQLite's C library
   with assay's settings: transfer FILE ACCOUNTS SECONDS */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static sqlite3 *db;

static void fail(const char *what) {
	fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(db));
	exit(1);
}

static void run(const char *text) {
	if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK) fail(text);
}

static sqlite3_stmt *prepare(const char *text) {
	sqlite3_stmt *s;
	if (sqlite3_prepare_v3(db, text, -1, SQLITE_PREPARE_PERSISTENT, &s, NULL) != SQLITE_OK) fail(text);
	return s;
}

/* step runs a statement whose parameters are set, and reads its columns. */
static void step(sqlite3_stmt *s) {
	int code;
	static volatile sqlite3_int64 seen;
	while ((code = sqlite3_step(s)) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(s); i++) seen += sqlite3_column_int64(s, i);
	if (code != SQLITE_DONE) fail("step");
	sqlite3_reset(s);
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static unsigned long long state = 42;

static long below(long n) {
	unsigned long long z = state += 0x9e3779b97f4a7c15ULL;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return (long)((z ^ z >> 31) % (unsigned long long)n);
}

int main(int argc, char **argv) {
	if (argc != 4) return 2;
	long accounts = atol(argv[2]);
	double seconds = atof(argv[3]);
	if (sqlite3_open(argv[1], &db) != SQLITE_OK) fail("open");
	run("PRAGMA journal_mode=wal; PRAGMA synchronous=full; PRAGMA page_size=4096; PRAGMA busy_timeout=5000");
	run("CREATE TABLE account (id INTEGER PRIMARY KEY NOT NULL, balance INTEGER NOT NULL, version INTEGER NOT NULL, CHECK (balance >= 0)) STRICT;"
	    "CREATE TABLE transfer (id INTEGER PRIMARY KEY NOT NULL, source INTEGER NOT NULL, destination INTEGER NOT NULL, amount INTEGER NOT NULL,"
	    " source_version INTEGER NOT NULL, destination_version INTEGER NOT NULL) STRICT; BEGIN");
	sqlite3_stmt *load = prepare("INSERT INTO account VALUES (?, ?, 0)");
	for (long id = 1; id <= accounts; id++) {
		sqlite3_bind_int64(load, 1, id);
		sqlite3_bind_int64(load, 2, id <= 10 ? 1000000000000 : 100000);
		step(load);
	}
	run("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
	sqlite3_stmt *begin = prepare("BEGIN IMMEDIATE"), *commit = prepare("COMMIT");
	sqlite3_stmt *move = prepare("UPDATE account SET balance = balance + ?2, version = version + 1 WHERE id = ?1 RETURNING balance, version");
	sqlite3_stmt *journal = prepare("INSERT INTO transfer (id, source, destination, amount, source_version, destination_version)"
	    " VALUES (?1, ?2, ?3, ?4, (SELECT version FROM account WHERE id = ?2), (SELECT version FROM account WHERE id = ?3))");
	double start = now(), took;
	long n = 0;
	while ((took = now() - start) < seconds) {
		long source = 11 + below(accounts - 10), destination = 11 + below(accounts - 10), amount = 1 + below(1000);
		if (below(5) == 0) source = 1 + below(10);
		if (source == destination) continue;
		long lower = source < destination ? source : destination, higher = source < destination ? destination : source;
		long change = source < destination ? -amount : amount;
		step(begin);
		sqlite3_bind_int64(move, 1, lower), sqlite3_bind_int64(move, 2, change), step(move);
		sqlite3_bind_int64(move, 1, higher), sqlite3_bind_int64(move, 2, -change), step(move);
		sqlite3_bind_int64(journal, 1, ++n), sqlite3_bind_int64(journal, 2, source);
		sqlite3_bind_int64(journal, 3, destination), sqlite3_bind_int64(journal, 4, amount), step(journal);
		step(commit);
	}
	printf("%ld transfers in %.3f s, %.1f transfers a second\n", n, took, n / took);
	return 0;
}
