//go:build linux

package main

// A loop is a workload beside the same commands as a bare loop on client libraries: on that
// of assay's driver, in Go (rivals/clients), and in C where Debian has one.
type loop struct {
	// before makes the file address.
	name, before, after string
	clients, rows       string
	// workload is what is run, but for its clients.
	workload string
	// library is a file of rivals without its ending, and flags what the compiler is told of
	// its library; empty without one in C.
	library, flags string
}

func loops() []loop {
	const bank, rows = "bank --audits 0 --accounts 10000", "10000"
	return []loop{
		{name: "bank, SQLite, one client, synchronous=full", before: `echo sqlite:bank.db > address`, clients: "1", workload: bank, rows: rows,
			library: "sqlite", flags: `-lsqlite3`},
		{name: "bank, MariaDB, 16 clients", before: `up mariadb:1`, after: `down`, clients: "16", workload: bank, rows: rows,
			library: "mariadb", flags: `$(mariadb_config --cflags --libs)`},
		{name: "bank, MariaDB, 16 clients, flush=0", before: `up mariadb:1,flush=0`, after: `down`, clients: "16", workload: bank, rows: rows,
			library: "mariadb", flags: `$(mariadb_config --cflags --libs)`},
		{name: "bank, MongoDB, three nodes, majority, 8 clients", before: `up mongodb:3`, after: `down`, clients: "8", workload: bank, rows: rows,
			library: "mongodb", flags: `$(pkg-config --cflags --libs libmongoc-1.0)`},
		{name: "bank, Redis, 16 clients, no append-only file", before: `up redis:1`, after: `down`, clients: "16", workload: bank, rows: rows,
			library: "redis", flags: `-lhiredis`},
		{name: "bank, etcd, 16 clients", before: `up etcd:1`, after: `down`, clients: "16", workload: bank, rows: rows},
		{name: "entity, Cassandra, 16 clients, half writes", before: `up cassandra:1`, after: `down`, clients: "16", workload: "entity --write-share 0.5 --entities 1000", rows: "1000"},
	}
}

// loopRows are a row for each library.
func loopRows() (all []row) {
	for _, l := range loops() {
		add := func(beside, build string) {
			all = append(all, row{name: l.name, before: build + "\n" + l.before, after: l.after, reach: "1.0",
				ours: side{read: readRun, run: `work ` + l.workload + ` --db "$(cat address)" --clients ` + l.clients + ` --warmup 1s --duration "${SECONDS_EACH}s"`},
				theirs: side{name: beside, read: readLoop,
					prepare: `rm -f *.rival*`, run: `./loop "$(cat address)" ` + l.clients + " " + l.rows + ` "$SECONDS_EACH"`}})
		}
		add("a bare loop on the same library in Go, the same commands", `(cd "$HERE/bench" && CGO_ENABLED=0 go build -trimpath -o "$OLDPWD/loop" ./rivals/clients)`)
		if l.library != "" {
			add("the same loop in C", `cc -O2 -pthread -o loop "$FILES/`+l.library+`.c" `+l.flags)
		}
	}
	return all
}
