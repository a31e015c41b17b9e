/* What the loops in C share, each the transfers of workload bank over a client library in C with what assay sends,
   nothing recorded or judged: NAME ADDRESS CLIENTS ACCOUNTS SECONDS. It is measured after a second in which it warms up. A loop
   defines load, client and transfer. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

struct transfer {
	long long id, source, destination, amount;
	/* The accounts by their ids, and what the one with the lower id gets; the other gets the opposite. */
	long long lower, higher, change;
};

/* load makes the tables with so many accounts. */
static void load(const char *address, long accounts);
/* client opens what one thread uses, until the program ends. */
static void *client(const char *address);
/* transfer is 0 if the database has refused it. */
static int transfer(void *client, const struct transfer *t);

static void fail(const char *what, const char *why) {
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

static long corporate(long accounts) { return accounts < 1000 ? 1 : accounts < 100000 ? accounts / 1000 : 100; }

static long long opening(long accounts, long id) { return id <= corporate(accounts) ? 1000000000000 : 100000; }

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* used is the processor time of this process so far. */
static double used(void) {
	struct rusage r;
	getrusage(RUSAGE_SELF, &r);
	return r.ru_utime.tv_sec + r.ru_stime.tv_sec + (r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

/* What begins between the two times is counted. */
struct loop {
	pthread_t thread;
	void *client;
	long accounts, done, refused;
	double from, until;
	long long id;
	unsigned long long state;
};

/* below is SplitMix64 (Steele, Lea, Flood, 2014). */
static long below(struct loop *l, long n) {
	unsigned long long z = l->state += 0x9e3779b97f4a7c15ULL;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return (long)((z ^ z >> 31) % (unsigned long long)n);
}

static void *work(void *argument) {
	struct loop *l = argument;
	long first = corporate(l->accounts) + 1, personal = l->accounts - first + 1;
	for (double begun; (begun = now()) < l->until;) {
		struct transfer t = {l->id++, first + below(l, personal), first + below(l, personal), 1 + below(l, 10000), 0, 0, 0};
		if (below(l, 5) == 0) t.source = 1 + below(l, first - 1), t.amount = 1000 + below(l, 4001);
		if (t.source == t.destination) continue;
		t.lower = t.source, t.higher = t.destination, t.change = -t.amount;
		if (t.destination < t.source) t.lower = t.destination, t.higher = t.source, t.change = t.amount;
		int done = transfer(l->client, &t);
		if (begun >= l->from) l->done += done, l->refused += !done;
	}
	return NULL;
}

int main(int argc, char **argv) {
	if (argc != 5) return 2;
	int clients = atoi(argv[2]);
	long accounts = atol(argv[3]), done = 0, refused = 0;
	struct loop *all = calloc(clients, sizeof *all);
	load(argv[1], accounts);
	for (int i = 0; i < clients; i++) all[i].client = client(argv[1]);
	double from = now() + 1, until = from + atof(argv[4]);
	for (int i = 0; i < clients; i++) {
		all[i].accounts = accounts, all[i].from = from, all[i].until = until, all[i].id = (long long)i << 40, all[i].state = 42 + i;
		if (pthread_create(&all[i].thread, NULL, work, &all[i])) fail("thread", "none can be made");
	}
	nanosleep(&(struct timespec){1, 0}, NULL);
	double before = used();
	for (int i = 0; i < clients; i++) pthread_join(all[i].thread, NULL), done += all[i].done, refused += all[i].refused;
	double took = now() - from, each = (used() - before) * 1e6 / (done ? done : 1);
	printf("%ld operations in %.3f s, %.1f operations a second, %.2f us of the processor each, %ld refused\n", done, took, done / took, each, refused);
	return 0;
}
