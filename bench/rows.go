//go:build linux

package main

import "slices"

// A row compares assay with another tool at one thing. Its commands are run by sh -eu, in
// a folder of their own, with these variables: ASSAY is the program, FILES the folder rivals,
// SECONDS_EACH how long a measurement takes. They may use what is in words.
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
const postgresUp = `up postgres:1
	psql -q -v ON_ERROR_STOP=1 -f "$FILES/bank.sql" "$(cat address)"`

// bankRun is a run of bank without audits, which pgbench does not do, and without looks at
// the server.
func bankRun(options string) side {
	return side{name: "assay", read: readRun, run: `address=$(cat address); case "$address" in *\?*) and='&';; *) and='?';; esac
		work bank --db "$address${and}` + options + `" --clients 16 --accounts 100000 --audits 0 \
			--warmup 2s --duration "${SECONDS_EACH}s"`}
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
	return side{read: readRun, run: `work script ` + file + ` ` + options + ` --observe 0 --db "$(cat address)" \
		--clients 1 --warmup 1s --duration "${SECONDS_EACH}s"`}
}

// script is the same file for assay and pgbench.
func script(file string) (ours, theirs side) {
	return scriptRun(file, "--setup pgbench-setup.sql --define scale=4 --protocol prepared"), side{name: "pgbench -M prepared -f, the same file",
		read: readText(`tps = ([0-9.]+)`, `actually processed: ([0-9]+)`),
		run:  `pgbench -n -M prepared -c 1 -T "$SECONDS_EACH" -D scale=4 -f ` + file + ` "$(cat address)"`}
}

// sysbench is its transaction in Starlark beside its own, on a database whose address and
// options are in the file sysbench. Each makes the same table.
func sysbench(product, before string) row {
	return row{name: "script, " + product + ", one client, sysbench's oltp_read_write in Starlark", before: before, after: `down`,
		ours: scriptRun(`"$FILES/oltp.star"`, ""), theirs: side{name: "sysbench oltp_read_write, the same statements",
			read: readText(`transactions: *[0-9]+ *\(([0-9.]+) per sec`, `transactions: *([0-9]+)`),
			run:  `sysbench oltp_read_write $(cat sysbench) --threads=1 --time="$SECONDS_EACH" run`}, reach: "0.67"}
}

const (
	sysbenchTable    = ` --tables=1 --table-size=100000 --rand-type=uniform`
	sysbenchPostgres = `up postgres:1
		parts '--db-driver=pgsql --pgsql-user=\1 --pgsql-password=\2 --pgsql-host=\3 --pgsql-port=\4 --pgsql-db=\5` + sysbenchTable + `' > sysbench
		sysbench oltp_read_write $(cat sysbench) prepare
		psql -q -c 'VACUUM (ANALYZE) sbtest1' "$(cat address)"`
	sysbenchMariaDB = `up mariadb:1
		parts '--db-driver=mysql --mysql-user=\1 --mysql-password=\2 --mysql-host=\3 --mysql-port=\4` + sysbenchTable + `' > sysbench
		mariadb $(parts '-u\1 -p\2 -h\3 -P\4') -e 'CREATE DATABASE sbtest'
		sysbench oltp_read_write $(cat sysbench) prepare`
)

// tpcb is pgbench's built-in transaction, which its client sends statement by statement.
func tpcb(options string) (ours, theirs side) {
	ours = side{read: readRun, run: `work tpcb --scale 4 --db "$(cat address)" --clients 4 ` + options + ` --warmup 1s \
		--duration "${SECONDS_EACH}s"`}
	return ours, side{name: "pgbench -M prepared, its built-in transaction", read: readText(`tps = ([0-9.]+)`, `actually processed: ([0-9]+)`),
		run: `pgbench -n -M prepared -c 4 -j 2 -T "$SECONDS_EACH" "$(cat address)"`}
}

// tpcc is TPC-C by statements of assay's and of go-tpc's, at the same scale and mix. Each makes
// its tables. What go-tpc counts are the transactions without an error. It holds what it has
// loaded against the conditions of the specification, by a statement that takes MariaDB minutes and
// is ended.
func tpcc() row {
	return row{name: "tpcc, MariaDB, one warehouse, 4 clients", reach: "1.0", after: `down`, before: `up mariadb:1
		parts '-U \1 -p \2 -H \3 -P \4 -D rival' > options
		server() { mariadb $(parts '-u\1 -p\2 -h\3 -P\4') -e "$1"; }
		server 'SET GLOBAL max_statement_time = 5'
		"$programs/go-tpc" tpcc $(cat options) --warehouses 1 -T 4 prepare > prepared
		server 'SET GLOBAL max_statement_time = 0'`,
		ours: side{read: readRun, run: `work tpcc --warehouses 1 --db "$(cat address)" --clients 4 --warmup 1s --duration "${SECONDS_EACH}s"`},
		theirs: side{name: "go-tpc tpcc, its own statements", read: readCounted(),
			run: `"$programs/go-tpc" tpcc $(cat options) --warehouses 1 -T 4 --time "${SECONDS_EACH}s" --ignore-error --silence run > told
				awk -F '[ ,]+' '/^.Summary/ && $2 !~ /_ERR/ { n += $7; if ($5 > s) s = $5 } END { print "count", n; print "rate", n / s }' told`}}
}

// ycsb is YCSB's workload A by the same properties. Each makes its table; go-ycsb is interrupted
// when the time is over.
func ycsb() row {
	const properties = `-P "$HERE/examples/ycsb/workloada" -p recordcount=10000 -p operationcount=100000000`
	return row{name: "ycsb, MariaDB, workload A, 16 clients", reach: "1.0", after: `down`, before: `up mariadb:1
		mariadb $(parts '-u\1 -p\2 -h\3 -P\4') -e 'CREATE DATABASE rival'
		parts '-p mysql.user=\1 -p mysql.password=\2 -p mysql.host=\3 -p mysql.port=\4 -p mysql.db=rival -p workload=core -p debug.pprof=127.0.0.1:0' > options
		"$programs/go-ycsb" load mysql ` + properties + ` $(cat options) --threads 16 > loaded`,
		ours: side{read: readRun, run: `work ycsb ` + properties + ` --db "$(cat address)" --clients 16 --warmup 1s --duration "${SECONDS_EACH}s"`},
		theirs: side{name: "go-ycsb, the same properties", read: readCounted(),
			run: `timeout --foreground --preserve-status -s INT "$SECONDS_EACH" \
				"$programs/go-ycsb" run mysql ` + properties + ` $(cat options) --threads 16 --interval 1000 > told
				awk -F '[ ,]+' '/^(READ|UPDATE) / { n += $6; if ($4 > s) s = $4 } END { print "count", n; print "rate", n / s }' told`}}
}

// A service over SQLite.
const (
	serveUp = `"$ASSAY" serve --allow-reset --db sqlite:entities.db --listen 127.0.0.1:0 > serve 2>&1 & echo $! > pid
		for i in $(seq 100); do grep -q 'http://' serve && break; sleep 0.1; done
		grep -o 'http://[^ ,]*' serve | head -1 > address`
	serveDown = `kill "$(cat pid)"`
)

func rows() []row { return slices.Concat(toolRows(), historyRows(), loadingRows(), loopRows()) }

// toolRows are beside the tools that people would use instead, and what has none.
func toolRows() []row {
	oneQuery, oneQueryTheirs := script("select.sql")
	transaction, transactionTheirs := script("pgbench.sql")
	oneByOne, oneByOneTheirs := tpcb("")
	together, togetherTheirs := tpcb("--batch")
	return []row{
		{name: "script, PostgreSQL, one client, one SELECT by key", before: pgbenchUp, after: `down`,
			ours: oneQuery, theirs: oneQueryTheirs, reach: "0.67"},
		{name: "script, PostgreSQL, one client, examples/pgbench.sql", before: pgbenchUp, after: `down`,
			ours: transaction, theirs: transactionTheirs, reach: "0.67"},
		sysbench("PostgreSQL", sysbenchPostgres), sysbench("MariaDB", sysbenchMariaDB), tpcc(), ycsb(),
		{name: "tpcb, PostgreSQL, 4 clients, statement by statement", before: pgbenchUp, after: `down`,
			ours: oneByOne, theirs: oneByOneTheirs, reach: "-"},
		{name: "tpcb --batch, PostgreSQL, 4 clients", before: pgbenchUp, after: `down`,
			ours: together, theirs: togetherTheirs, reach: "-"},
		{name: "bank, PostgreSQL, 16 clients, synchronous_commit=off", before: postgresUp, after: `down`,
			ours: bankRun("synchronous_commit=off"), theirs: pgbench("-c synchronous_commit=off"), reach: "1.0"},
		{name: "bank, PostgreSQL, 16 clients, synchronous_commit=on", before: postgresUp, after: `down`,
			ours: bankRun("synchronous_commit=on"), theirs: pgbench("-c synchronous_commit=on"), reach: "1.0"},
		{name: "REST, 32 connections, reads", before: serveUp, after: serveDown,
			ours: side{read: readRun, run: `work entity --db "$(cat address)" --clients 32 --write-share 0 --entities 1000 --warmup 2s \
				--duration "${SECONDS_EACH}s"`},
			theirs: side{name: "wrk, one entity, no answer looked at", read: readText(`Requests/sec: *([0-9.]+)`, `([0-9]+) requests in`),
				prepare: `curl -sf -H 'Content-Type: application/json' -d @"$FILES/entity.json" "$(cat address)/entities" | grep -o '"id":"[^"]*"' | cut -d'"' -f4 > id`,
				run:     `wrk -t 1 -c 32 -d "${SECONDS_EACH}s" "$(cat address)/entities/$(cat id)"`}, reach: "per core of the client: 60,000/s"},
		{name: "REST, 32 users, one call in fifty a write, every read compared", before: serveUp, after: serveDown,
			ours: side{read: readRun, run: `work entity --db "$(cat address)" --clients 32 --write-share 0.02 --entities 1000 --warmup 2s \
				--duration "${SECONDS_EACH}s"`},
			theirs: side{name: "Locust, docs/locustfile.py, one process", read: readCounted(),
				run: `WRITE_SHARE=0.02 "$programs/locust" -f "$HERE/docs/locustfile.py" \
					--headless -H "$(cat address)" -u 32 -r 1000 -t "$((SECONDS_EACH + 2))s" --only-summary --csv locust > locust.txt 2>&1
				awk -F, '/Aggregated/ { print "count", $3; print "rate", $10 }' locust_stats.csv`}, reach: "faster"},
		{name: "engine, 16 clients on the null store", ours: side{read: readRun,
			run: `work bank --db null:// --clients 16 --warmup 1s --duration 5s`}, reach: "5,000,000/s"},
		{name: "10,000 clients on an in-process store", ours: side{read: readRun, run: `work bank --db mem:// --clients 10000 --rate 20000 \
			--warmup 2s --duration "${SECONDS_EACH}s"`}, reach: "under 200 MiB"},
		{name: "ledger's check of 2 M transfers", before: `"$ASSAY" run bank --db mem:// --clients 16 --accounts 100000 --ops 2000000 --warmup 0s \
			--quiet --out ledger > /dev/null || test $? = 4`,
			ours: side{read: readTime(2_000_000), run: `"$ASSAY" check ledger > /dev/null || test $? = 4`}, reach: "5,000,000/s on two cores"},
		{name: "check of 1 M list-append transactions, strict", before: `"$ASSAY" run isolation --db mem:// --test append --ops 1000000 --warmup 0s \
			--quiet --out appends > /dev/null || test $? = 4
			"$ASSAY" export appends --out appends.edn`,
			ours: side{read: readTime(1_000_000), run: `"$ASSAY" check appends.edn --model strict-serializable > /dev/null`}, reach: "1,000,000/s, 150 MiB"},
	}
}
