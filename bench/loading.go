//go:build linux

package main

import "fmt"

// loading is accounts of workload bank as assay loads them into an empty table until it is ready
// to be worked on, beside another way to load the same rows into such a table and to do the same
// to it.
func loading(product string, accounts int, before string, theirs side) row {
	theirs.read = readTime(float64(accounts))
	return row{name: fmt.Sprintf("loading %.1f M accounts, %s", float64(accounts)/1e6, product), before: before, after: `down`, reach: "1.0", theirs: theirs,
		ours: side{read: readLoading, run: fmt.Sprintf(`work bank --db "$(cat address)" --accounts %d --ops 100 --warmup 0s`, accounts)}}
}

// readyFile has so many accounts.
func readyFile(accounts int) string {
	return fmt.Sprintf("\n"+`seq 1 %d | awk '{print $1 "\t100000\t0"}' > accounts.txt`, accounts)
}

// loadingRows are beside the vendor's own program with a ready file, and on MongoDB, whose
// mongoimport is in none of Debian's packages, beside its library for Go.
func loadingRows() []row {
	const mariadb = `mariadb $(parts '-u\1 -p\2 -h\3 -P\4')`
	return []row{
		loading("PostgreSQL, key and vacuum included", 2_000_000, postgresUp+readyFile(2_000_000), side{name: "psql, \\copy from a ready file, key, vacuum",
			prepare: `psql -q -c 'DROP TABLE IF EXISTS rival.loaded' "$(cat address)"`,
			run:     `psql -q -v ON_ERROR_STOP=1 -f "$FILES/load.sql" "$(cat address)"`}),
		loading("MariaDB", 1_000_000, `up mariadb:1`+readyFile(1_000_000), side{name: "mariadb, LOAD DATA LOCAL INFILE, ANALYZE TABLE",
			prepare: mariadb + ` -e 'DROP DATABASE IF EXISTS rival'`,
			run:     mariadb + ` --local-infile=1 < "$FILES/load.mariadb.sql" > analyzed`}),
		loading("MongoDB, one node, majority", 300_000, `up mongodb:1
			(cd "$HERE/bench" && CGO_ENABLED=0 go build -trimpath -o "$OLDPWD/bulk" ./rivals/bulk)`,
			side{name: "InsertMany of the Go driver, unordered, four workers", run: `./bulk "$(cat address)" 300000`}),
	}
}
