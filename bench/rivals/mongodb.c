/* The loop over MongoDB's library in C: a transaction with driver/mongodb's concerns. */
#include "loop.h"
#include <mongoc/mongoc.h>

struct session {
	mongoc_client_t *client;
	mongoc_collection_t *accounts, *journal;
	mongoc_client_session_t *session;
	mongoc_transaction_opt_t *how;
	bson_t within; /* the session, as an option of commands */
};

static mongoc_client_t *connect_to(const char *address) {
	mongoc_client_t *c = mongoc_client_new(address);
	if (!c) fail("address", "it cannot be read");
	return c;
}

static void load(const char *address, long accounts) {
	bson_error_t error;
	mongoc_init();
	mongoc_client_t *c = connect_to(address);
	mongoc_database_t *database = mongoc_client_get_database(c, "rival");
	mongoc_collection_t *made, *collection = mongoc_database_get_collection(database, "account");
	if (!mongoc_database_drop(database, &error) || !(made = mongoc_database_create_collection(database, "transfer", NULL, &error))) fail("load", error.message);
	mongoc_bulk_operation_t *bulk = mongoc_collection_create_bulk_operation_with_opts(collection, NULL);
	for (long id = 1; id <= accounts; id++) {
		bson_t *document = BCON_NEW("_id", BCON_INT64(id), "balance", BCON_INT64(opening(accounts, id)), "version", BCON_INT64(0));
		mongoc_bulk_operation_insert(bulk, document);
		bson_destroy(document);
	}
	if (!mongoc_bulk_operation_execute(bulk, NULL, &error)) fail("load", error.message);
	mongoc_bulk_operation_destroy(bulk);
	mongoc_collection_destroy(made);
	mongoc_collection_destroy(collection);
	mongoc_database_destroy(database);
	mongoc_client_destroy(c);
}

static void *client(const char *address) {
	bson_error_t error;
	struct session *s = calloc(1, sizeof *s);
	s->client = connect_to(address);
	s->accounts = mongoc_client_get_collection(s->client, "rival", "account");
	s->journal = mongoc_client_get_collection(s->client, "rival", "transfer");
	mongoc_session_opt_t *plain = mongoc_session_opts_new();
	mongoc_session_opts_set_causal_consistency(plain, false);
	mongoc_read_concern_t *reads = mongoc_read_concern_new();
	mongoc_read_concern_set_level(reads, MONGOC_READ_CONCERN_LEVEL_SNAPSHOT);
	mongoc_write_concern_t *writes = mongoc_write_concern_new();
	mongoc_write_concern_set_w(writes, MONGOC_WRITE_CONCERN_W_MAJORITY);
	s->how = mongoc_transaction_opts_new();
	mongoc_transaction_opts_set_read_concern(s->how, reads);
	mongoc_transaction_opts_set_write_concern(s->how, writes);
	bson_init(&s->within);
	if (!(s->session = mongoc_client_start_session(s->client, plain, &error)) ||
	    !mongoc_client_session_append(s->session, &s->within, &error)) fail("session", error.message);
	return s;
}

/* move changes an account and gives its version. It is 0 if there is an error, or no account that would not be overdrawn, which is
   error 0. */
static int move(struct session *s, long long account, long long amount, int64_t *version, bson_t *reply, bson_error_t *error) {
	bson_t *query = BCON_NEW("_id", BCON_INT64(account));
	if (amount < 0) BCON_APPEND(query, "balance", "{", "$gte", BCON_INT64(-amount), "}");
	bson_t *update = BCON_NEW("$inc", "{", "balance", BCON_INT64(amount), "version", BCON_INT64(1), "}");
	mongoc_find_and_modify_opts_t *opts = mongoc_find_and_modify_opts_new();
	mongoc_find_and_modify_opts_set_update(opts, update);
	mongoc_find_and_modify_opts_set_flags(opts, MONGOC_FIND_AND_MODIFY_RETURN_NEW);
	mongoc_find_and_modify_opts_append(opts, &s->within);
	bson_destroy(reply);
	memset(error, 0, sizeof *error);
	int found = mongoc_collection_find_and_modify_with_opts(s->accounts, query, opts, reply, error);
	bson_iter_t top, field;
	if (found && (found = bson_iter_init(&top, reply) && bson_iter_find_descendant(&top, "value.version", &field))) *version = bson_iter_int64(&field);
	mongoc_find_and_modify_opts_destroy(opts);
	bson_destroy(query);
	bson_destroy(update);
	return found;
}

static int transfer(void *of, const struct transfer *t) {
	struct session *s = of;
	bson_error_t error;
	bson_t reply = BSON_INITIALIZER;
	int64_t version[2];
	int lower_is_source = t->lower == t->source;
	if (!mongoc_client_session_start_transaction(s->session, s->how, &error)) fail("begin", error.message);
	int done = move(s, t->lower, t->change, &version[0], &reply, &error) && move(s, t->higher, -t->change, &version[1], &reply, &error);
	if (done) {
		bson_t *row = BCON_NEW("_id", BCON_INT64(t->id), "source", BCON_INT64(t->source), "destination", BCON_INT64(t->destination),
		    "amount", BCON_INT64(t->amount), "source_version", BCON_INT64(version[!lower_is_source]),
		    "destination_version", BCON_INT64(version[lower_is_source]));
		bson_destroy(&reply);
		done = mongoc_collection_insert_one(s->journal, row, &s->within, &reply, &error);
		bson_destroy(row);
	}
	if (done) {
		bson_destroy(&reply);
		done = mongoc_client_session_commit_transaction(s->session, &reply, &error);
	}
	if (!done) {
		if (error.code && !mongoc_error_has_label(&reply, "TransientTransactionError")) fail("transfer", error.message);
		mongoc_client_session_abort_transaction(s->session, &error); /* what was refused may have ended already */
	}
	bson_destroy(&reply);
	return done;
}
