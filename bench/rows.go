//go:build linux

package main

// A row compares assay with another tool at one thing. Its commands are run by sh -eu, in
// a folder of their own, with these variables: ASSAY is the program, FILES the folder rivals,
// SECONDS_EACH how long a measurement takes.
type row struct {
	name string
	// before and after are done once.
	before, after string
	ours, theirs  side
	// reach is what is aimed at.
	reach string
}

// side is one of the two; of a row without a competitor, theirs is empty.
type side struct {
	name string
	// prepare is not measured.
	prepare, run string
	read         reader
}

// PostgreSQL of its own, with the settings that assay's clusters have.
const (
	postgresUp = `"$ASSAY" cluster up postgres:1,network=loopback > up
		eval "$(sed -n 's/^use it:  //p' up)" && echo "$ASSAY_DB" > address
		sed -n 's/^end it:  assay cluster down //p' up > cluster
		psql -q -v ON_ERROR_STOP=1 -f "$FILES/bank.sql" "$(cat address)"`
	postgresDown = `"$ASSAY" cluster down "$(cat cluster)"`
)

// bankRun is a run of bank without audits, which pgbench does not do, and without looks at
// the server.
func bankRun(options string) side {
	return side{name: "assay", read: readRun, run: `address=$(cat address); case "$address" in *\?*) and='&';; *) and='?';; esac
		"$ASSAY" run bank --db "$address${and}` + options + `" --clients 16 --accounts 100000 --audits 0 --no-server-stats \
			--warmup 2s --duration "${SECONDS_EACH}s" --json --quiet --out "$(mktemp -u -p .)" || test $? = 4`}
}

// pgbench does the same transfers, in one pipeline each.
func pgbench(options string) side {
	return side{name: "pgbench, same statements, \\startpipeline", read: readText(`tps = ([0-9.]+)`, `actually processed: ([0-9]+)`),
		prepare: `psql -q -v ON_ERROR_STOP=1 -f "$FILES/bank.sql" "$(cat address)"`,
		run: `PGOPTIONS='` + options + `' pgbench -n -M prepared -c 16 -j 2 -T $((SECONDS_EACH + 2)) -D n=0 \
			-f "$FILES/transfer.pgbench" "$(cat address)"`}
}

// loaded is how many accounts are loaded.
const loaded = 2_000_000

func rows() []row {
	return []row{
		{name: "bank, PostgreSQL, 16 clients, synchronous_commit=off", before: postgresUp, after: postgresDown,
			ours: bankRun("synchronous_commit=off"), theirs: pgbench("-c synchronous_commit=off"), reach: "1.0"},
		{name: "bank, PostgreSQL, 16 clients, synchronous_commit=on", before: postgresUp, after: postgresDown,
			ours: bankRun("synchronous_commit=on"), theirs: pgbench("-c synchronous_commit=on"), reach: "1.0"},
		{name: "loading 2 M accounts, PostgreSQL, key and vacuum included", before: postgresUp + `
			seq 1 2000000 | awk '{print $1 "\t100000\t0"}' > accounts.txt`, after: postgresDown,
			ours: side{read: readLoading, run: `"$ASSAY" run bank --db "$(cat address)" --accounts 2000000 --ops 100 --warmup 0s --no-server-stats \
				--json --quiet --out "$(mktemp -u -p .)" || test $? = 4`},
			theirs: side{name: "psql, \\copy from a ready file, key, vacuum", read: readTime(loaded),
				prepare: `psql -q -c 'DROP TABLE IF EXISTS rival.loaded' "$(cat address)"`,
				run:     `psql -q -v ON_ERROR_STOP=1 -f "$FILES/load.sql" "$(cat address)"`}, reach: "1.0"},
		{name: "bank, SQLite, one client, synchronous=full", before: `cc -O2 -o loop "$FILES/transfer.c" -lsqlite3`,
			ours: side{read: readRun, run: `"$ASSAY" run bank --clients 1 --accounts 10000 --audits 0 --warmup 1s --duration "${SECONDS_EACH}s" \
				--json --quiet --out "$(mktemp -u -p .)" || test $? = 4`},
			theirs: side{name: "the same loop in C, the same settings", read: readText(`([0-9.]+) transfers a second`, `([0-9]+) transfers in`),
				prepare: `rm -f loop.db*`, run: `./loop loop.db 10000 "$SECONDS_EACH"`}, reach: "0.9"},
		{name: "REST, 32 connections, reads", before: `"$ASSAY" serve --allow-reset --db sqlite:entities.db --listen 127.0.0.1:0 > serve 2>&1 & echo $! > pid
			for i in $(seq 100); do grep -q 'http://' serve && break; sleep 0.1; done
			grep -o 'http://[^ ,]*' serve | head -1 > address`, after: `kill "$(cat pid)"`,
			ours: side{read: readRun, run: `"$ASSAY" run entity --db "$(cat address)" --clients 32 --write-share 0 --entities 1000 --warmup 2s \
				--duration "${SECONDS_EACH}s" --json --quiet --out "$(mktemp -u -p .)" || test $? = 4`},
			theirs: side{name: "wrk, one entity, no answer looked at", read: readText(`Requests/sec: *([0-9.]+)`, `([0-9]+) requests in`),
				prepare: `curl -sf -H 'Content-Type: application/json' -d @"$FILES/entity.json" "$(cat address)/entities" | grep -o '"id":"[^"]*"' | cut -d'"' -f4 > id`,
				run:     `wrk -t 1 -c 32 -d "${SECONDS_EACH}s" "$(cat address)/entities/$(cat id)"`}, reach: "per core of the client: 60,000/s"},
		{name: "engine, 16 clients on the null store", ours: nullRun("--clients 16"), reach: "5,000,000/s"},
		{name: "10,000 clients on an in-process store", ours: side{read: readRun, run: `"$ASSAY" run bank --db mem:// --clients 10000 --rate 20000 \
			--warmup 2s --duration "${SECONDS_EACH}s" --json --quiet --out "$(mktemp -u -p .)" || test $? = 4`}, reach: "under 200 MiB"},
		{name: "ledger's check of 2 M transfers", before: `"$ASSAY" run bank --db mem:// --clients 16 --accounts 100000 --ops 2000000 --warmup 0s \
			--quiet --out ledger > /dev/null || test $? = 4`,
			ours: side{read: readTime(2_000_000), run: `"$ASSAY" check ledger > /dev/null`}, reach: "5,000,000/s on two cores"},
		{name: "check of 1 M list-append transactions, strict", before: `"$ASSAY" run isolation --db mem:// --test append --ops 1000000 --warmup 0s \
			--quiet --out appends > /dev/null || test $? = 4
			"$ASSAY" export appends --out appends.edn`,
			ours: side{read: readTime(1_000_000), run: `"$ASSAY" check appends.edn --model strict-serializable > /dev/null`}, reach: "1,000,000/s, 150 MiB"},
	}
}

func nullRun(options string) side {
	return side{read: readRun, run: `"$ASSAY" run bank --db null:// ` + options + ` --warmup 1s --duration 5s --json --quiet \
		--out "$(mktemp -u -p .)" || test $? = 4
		rm -rf tmp.*`}
}
