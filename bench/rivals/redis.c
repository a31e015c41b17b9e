/* The loop over Redis's library, hiredis, in the server's database 1, which it empties: a transfer watches and reads its rows, and
   writes them with MULTI and EXEC, as driver/redis does. */
#include "loop.h"
#include <hiredis/hiredis.h>

/* next is the next answer. */
static redisReply *next(redisContext *c) {
	void *answer;
	if (redisGetReply(c, &answer) != REDIS_OK) fail("answer", c->errstr);
	redisReply *r = answer;
	if (r->type == REDIS_REPLY_ERROR) fail("answer", r->str);
	return r;
}

static void skip(redisContext *c, long answers) {
	while (answers-- > 0) freeReplyObject(next(c));
}

static redisContext *connect_to(const char *address) {
	char host[64];
	int port;
	if (sscanf(address, "redis://%63[^:]:%d/", host, &port) != 2) fail("address", "none of a server alone");
	redisContext *c = redisConnect(host, port);
	if (!c || c->err) fail("connect", c ? c->errstr : "no memory");
	redisAppendCommand(c, "SELECT 1");
	skip(c, 1);
	return c;
}

/* Keys and rows as driver/redis has them: numbers in a variable length each, of at most 10 bytes. */
struct key { char text[48]; };

static struct key key_of(const char *table, long long id) {
	struct key k;
	snprintf(k.text, sizeof k.text, "assay:bank:%s:%lld", table, id);
	return k;
}

static char *put(char *to, long long n) {
	unsigned long long u = (unsigned long long)n << 1;
	if (n < 0) u = ~u;
	for (; u >= 0x80; u >>= 7) *to++ = (char)(u | 0x80);
	*to++ = (char)u;
	return to;
}

static const char *get(const char *from, long long *n) {
	unsigned long long u = 0;
	int shift = 0;
	do u |= (unsigned long long)(*from & 0x7f) << shift, shift += 7;
	while (*from++ & 0x80 && shift < 64);
	*n = (long long)(u >> 1);
	if (u & 1) *n = ~*n;
	return from;
}

static void set(redisContext *c, const struct key *k, const long long *numbers, int count) {
	char row[60], *end = row;
	for (int i = 0; i < count; i++) end = put(end, numbers[i]);
	const char *words[] = {"set", k->text, row};
	size_t lengths[] = {3, strlen(k->text), (size_t)(end - row)};
	redisAppendCommandArgv(c, 3, words, lengths);
}

static void load(const char *address, long accounts) {
	redisContext *c = connect_to(address);
	redisAppendCommand(c, "FLUSHDB");
	for (long id = 1; id <= accounts; id++) {
		struct key k = key_of("account", id);
		set(c, &k, (const long long[]){id, opening(accounts, id), 0}, 3);
	}
	skip(c, accounts + 1);
	redisFree(c);
}

static void *client(const char *address) { return connect_to(address); }

/* read_account reads one into its id, balance and version. */
static void read_account(const redisReply *r, long long *account) {
	if (r->type != REDIS_REPLY_STRING) fail("account", "it is not there");
	get(get(get(r->str, &account[0]), &account[1]), &account[2]);
}

static int transfer(void *of, const struct transfer *t) {
	redisContext *c = of;
	struct key lower = key_of("account", t->lower), higher = key_of("account", t->higher), journal = key_of("transfer", t->id);
	redisAppendCommandArgv(c, 4, (const char *[]){"watch", lower.text, higher.text, journal.text}, NULL);
	redisAppendCommandArgv(c, 4, (const char *[]){"mget", lower.text, higher.text, journal.text}, NULL);
	skip(c, 1);
	redisReply *found = next(c);
	if (found->type != REDIS_REPLY_ARRAY || found->elements != 3 || found->element[2]->type != REDIS_REPLY_NIL) fail("transfer", "it is there already");
	long long accounts[2][3];
	for (int i = 0; i < 2; i++) read_account(found->element[i], accounts[i]), accounts[i][2]++;
	freeReplyObject(found);
	accounts[0][1] += t->change, accounts[1][1] -= t->change;
	if (accounts[0][1] < 0 || accounts[1][1] < 0) {
		redisAppendCommand(c, "UNWATCH");
		skip(c, 1);
		return 0;
	}
	int lower_is_source = t->lower == t->source;
	redisAppendCommandArgv(c, 1, (const char *[]){"multi"}, NULL);
	set(c, &lower, accounts[0], 3);
	set(c, &higher, accounts[1], 3);
	set(c, &journal, (const long long[]){t->id, t->source, t->destination, t->amount, accounts[!lower_is_source][2], accounts[lower_is_source][2]}, 6);
	redisAppendCommandArgv(c, 1, (const char *[]){"exec"}, NULL);
	skip(c, 4);
	redisReply *executed = next(c);
	int done = executed->type == REDIS_REPLY_ARRAY; /* nil if another has changed an account meanwhile */
	for (size_t i = 0; done && i < executed->elements; i++)
		if (executed->element[i]->type != REDIS_REPLY_STATUS) fail("transfer", executed->element[i]->str);
	freeReplyObject(executed);
	return done;
}
