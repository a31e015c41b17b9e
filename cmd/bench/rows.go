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

// Tables of pgbench's own at scale 4, beside ours, and the same two transactions for both.
const pgbenchUp = postgresUp + `
	pgbench -i -q -s 4 "$(cat address)" 2> initialized || { cat initialized; exit 1; }
	printf '%s\n' '\set aid random(1, 100000 * :scale)' 'SELECT abalance FROM pgbench_accounts WHERE aid = :aid;' > select.sql
	cp "$HERE/examples/pgbench.sql" "$HERE/examples/pgbench-setup.sql" .`

// scriptRun is a run of a script with one client: what an operation costs by itself.
func scriptRun(file, options string) side {
	return side{read: readRun, run: `"$ASSAY" run script ` + file + ` ` + options + ` --observe 0 --db "$(cat address)" \
		--clients 1 --no-server-stats --warmup 1s --duration "${SECONDS_EACH}s" --json --quiet --out "$(mktemp -u -p .)" || test $? = 4`}
}

// script is the same file for assay and pgbench.
func script(file string) (ours, theirs side) {
	return scriptRun(file, "--setup pgbench-setup.sql --define scale=4 --protocol prepared"), side{name: "pgbench -M prepared -f, the same file",
		read: readText(`tps = ([0-9.]+)`, `actually processed: ([0-9]+)`),
		run:  `pgbench -n -M prepared -c 1 -T "$SECONDS_EACH" -D scale=4 -f ` + file + ` "$(cat address)"`}
}

// sysbenchUp has sysbench's table made by sysbench; oltp.star makes its own.
const sysbenchUp = postgresUp + `
	sed 's|postgres://\([^:]*\):\([^@]*\)@\([^:]*\):\([0-9]*\)/\([^?]*\).*|--db-driver=pgsql --pgsql-user=\1 --pgsql-password=\2 --pgsql-host=\3 --pgsql-port=\4 --pgsql-db=\5 --tables=1 --table-size=100000 --rand-type=uniform|' address > sysbench
	sysbench oltp_read_write $(cat sysbench) prepare
	psql -q -c 'VACUUM (ANALYZE) sbtest1' "$(cat address)"`

// tpcb is pgbench's built-in transaction, which its client sends statement by statement.
func tpcb(options string) (ours, theirs side) {
	ours = side{read: readRun, run: `"$ASSAY" run tpcb --scale 4 --db "$(cat address)" --clients 4 ` + options + ` --no-server-stats --warmup 1s \
		--duration "${SECONDS_EACH}s" --json --quiet --out "$(mktemp -u -p .)" || test $? = 4`}
	return ours, side{name: "pgbench -M prepared, its built-in transaction", read: readText(`tps = ([0-9.]+)`, `actually processed: ([0-9]+)`),
		run: `pgbench -n -M prepared -c 4 -j 2 -T "$SECONDS_EACH" "$(cat address)"`}
}

// A service over SQLite.
const (
	serveUp = `"$ASSAY" serve --allow-reset --db sqlite:entities.db --listen 127.0.0.1:0 > serve 2>&1 & echo $! > pid
		for i in $(seq 100); do grep -q 'http://' serve && break; sleep 0.1; done
		grep -o 'http://[^ ,]*' serve | head -1 > address`
	serveDown = `kill "$(cat pid)"`
)

// loaded is how many accounts are loaded.
const loaded = 2_000_000

func rows() []row {
	oneQuery, oneQueryTheirs := script("select.sql")
	transaction, transactionTheirs := script("pgbench.sql")
	oneByOne, oneByOneTheirs := tpcb("")
	together, togetherTheirs := tpcb("--batch")
	return []row{
		{name: "script, PostgreSQL, one client, one SELECT by key", before: pgbenchUp, after: postgresDown,
			ours: oneQuery, theirs: oneQueryTheirs, reach: "0.67"},
		{name: "script, PostgreSQL, one client, examples/pgbench.sql", before: pgbenchUp, after: postgresDown,
			ours: transaction, theirs: transactionTheirs, reach: "0.67"},
		{name: "script, PostgreSQL, one client, sysbench's oltp_read_write in Starlark", before: sysbenchUp, after: postgresDown,
			ours: scriptRun(`"$FILES/oltp.star"`, ""), theirs: side{name: "sysbench oltp_read_write, the same statements",
				read: readText(`transactions: *[0-9]+ *\(([0-9.]+) per sec`, `transactions: *([0-9]+)`),
				run:  `sysbench oltp_read_write $(cat sysbench) --threads=1 --time="$SECONDS_EACH" run`}, reach: "0.67"},
		{name: "tpcb, PostgreSQL, 4 clients, statement by statement", before: pgbenchUp, after: postgresDown,
			ours: oneByOne, theirs: oneByOneTheirs, reach: "-"},
		{name: "tpcb --batch, PostgreSQL, 4 clients", before: pgbenchUp, after: postgresDown,
			ours: together, theirs: togetherTheirs, reach: "-"},
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
		{name: "bank, MongoDB, three nodes, majority, 8 clients", before: `(cd "$HERE" && go build -trimpath -o "$OLDPWD/loop" ./cmd/bench/rivals/mongodb)
			"$ASSAY" cluster up mongodb:3,network=loopback > up
			eval "$(sed -n 's/^use it:  //p' up)" && echo "$ASSAY_DB" > address
			sed -n 's/^end it:  assay cluster down //p' up > cluster`, after: `"$ASSAY" cluster down "$(cat cluster)"`,
			ours: side{read: readRun, run: `"$ASSAY" run bank --db "$(cat address)" --clients 8 --accounts 10000 --audits 0 --no-server-stats \
				--warmup 1s --duration "${SECONDS_EACH}s" --json --quiet --out "$(mktemp -u -p .)" || test $? = 4`},
			theirs: side{name: "a bare loop on the Go driver, the same commands", read: readText(`([0-9.]+) transfers a second`, `([0-9]+) transfers in`),
				run: `./loop "$(cat address)" 8 10000 "$SECONDS_EACH"`}, reach: "1.0"},
		{name: "REST, 32 connections, reads", before: serveUp, after: serveDown,
			ours: side{read: readRun, run: `"$ASSAY" run entity --db "$(cat address)" --clients 32 --write-share 0 --entities 1000 --warmup 2s \
				--duration "${SECONDS_EACH}s" --json --quiet --out "$(mktemp -u -p .)" || test $? = 4`},
			theirs: side{name: "wrk, one entity, no answer looked at", read: readText(`Requests/sec: *([0-9.]+)`, `([0-9]+) requests in`),
				prepare: `curl -sf -H 'Content-Type: application/json' -d @"$FILES/entity.json" "$(cat address)/entities" | grep -o '"id":"[^"]*"' | cut -d'"' -f4 > id`,
				run:     `wrk -t 1 -c 32 -d "${SECONDS_EACH}s" "$(cat address)/entities/$(cat id)"`}, reach: "per core of the client: 60,000/s"},
		{name: "REST, 32 users, one call in fifty a write, every read compared", before: serveUp, after: serveDown,
			ours: side{read: readRun, run: `"$ASSAY" run entity --db "$(cat address)" --clients 32 --write-share 0.02 --entities 1000 --warmup 2s \
				--duration "${SECONDS_EACH}s" --json --quiet --out "$(mktemp -u -p .)" || test $? = 4`},
			theirs: side{name: "Locust, docs/locustfile.py, one process", read: readText(`rate ([0-9.]+)`, `count ([0-9]+)`),
				run: `WRITE_SHARE=0.02 "${ASSAY_SERVERS:-${XDG_CACHE_HOME:-$HOME/.cache}/assay/servers}/bin/locust" -f "$HERE/docs/locustfile.py" \
					--headless -H "$(cat address)" -u 32 -r 1000 -t "$((SECONDS_EACH + 2))s" --only-summary --csv locust > locust.txt 2>&1
				awk -F, '/Aggregated/ { print "count", $3; print "rate", $10 }' locust_stats.csv`}, reach: "faster"},
		{name: "engine, 16 clients on the null store", ours: nullRun("--clients 16"), reach: "5,000,000/s"},
		{name: "10,000 clients on an in-process store", ours: side{read: readRun, run: `"$ASSAY" run bank --db mem:// --clients 10000 --rate 20000 \
			--warmup 2s --duration "${SECONDS_EACH}s" --json --quiet --out "$(mktemp -u -p .)" || test $? = 4`}, reach: "under 200 MiB"},
		{name: "ledger's check of 2 M transfers", before: `"$ASSAY" run bank --db mem:// --clients 16 --accounts 100000 --ops 2000000 --warmup 0s \
			--quiet --out ledger > /dev/null || test $? = 4`,
			ours: side{read: readTime(2_000_000), run: `"$ASSAY" check ledger > /dev/null || test $? = 4`}, reach: "5,000,000/s on two cores"},
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
