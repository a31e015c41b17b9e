package mysql

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/store"
)

// dialectOption is the address's option that names the dialect.
const dialectOption = "dialect"

// dialect is where the products that speak MySQL's protocol differ, as far as this
// driver notices. MariaDB and MySQL are one, since a server tells all that is not
// the same of them.
type dialect struct {
	// name is as in the address.
	name string
	// product is the server's name, empty if its version tells that.
	product string
	// levels are the isolation levels that there are, in SQL's words.
	levels []string
	// checks is the variable that must be ON for CHECK constraints to be kept;
	// empty if the version decides.
	checks string
	// snapshot begins a read-only transaction that sees one state.
	snapshot string
	// names gives a connection the name $1, and sessions lists the ids and the states of the
	// connections that are called $1 and their id.
	names, sessions string
	// waits are its questions for what is waited for.
	waits waits
	// loads is whether LOAD DATA is the way to load, in a transaction.
	loads bool
	// optimizes is whether OPTIMIZE TABLE gives back space and tables can be stored in
	// several ways, and where asks for the one way in which they are, if they cannot.
	optimizes bool
	where     string
	// settings begins the names of the variables that say how the server works; those of
	// MySQL are then there and mean nothing.
	settings string
	// refresh, before a table's name, brings its statistics up to date, on this server
	// alone where there is a difference.
	refresh string
}

// dialects are all of them, the one of MySQL and MariaDB first.
//
// What TiDB does is by its documentation ("TiDB Docs", v8.5), and where a function is named
// by its source. No test has a TiDB server:
//
//   - "TiDB implements Snapshot Isolation consistency, which it advertises as
//     REPEATABLE-READ", and read committed; not serializable ("TiDB Transaction
//     Isolation Levels"). A pessimistic transaction changes what is committed last
//     and not what its snapshot shows ("Difference between TiDB and MySQL Repeatable
//     Read"), so that no more than read committed is promised, as of InnoDB. An optimistic
//     one (tidb_txn_mode) is refused when it commits if what it changes was changed since
//     it began ("TiDB Optimistic Transaction Model").
//   - CHECK constraints are kept only with tidb_enable_check_constraint ("Constraints").
//   - READ ONLY transactions are refused by default ("START TRANSACTION"), so that a
//     snapshot is asked for without.
//   - A server lists its own sessions in PROCESSLIST, and those of all in
//     CLUSTER_PROCESSLIST. Sessions are known by tidb_session_alias: of a lock that another
//     session holds IS_USED_LOCK says 1, and not by whom (IsUsedAdvisoryLock), and it takes a
//     second.
//   - There is no information_schema.innodb_trx; TIDB_TRX has the transactions of a server,
//     and what waits for a lock is LockWaiting in it, as is for a moment whatever takes one.
//   - Every table is called one of InnoDB; in what it is kept is in the server's configuration
//     ("tidb_config", store). The variables innodb_* and those of a binary log do nothing, but
//     innodb_lock_wait_timeout ("System Variables").
//   - Rows are loaded by INSERT: no LOAD DATA was tried there.
//   - OPTIMIZE TABLE is not supported ("MySQL Compatibility"); space comes back by
//     garbage collection and compaction.
//   - ANALYZE TABLE has no NO_WRITE_TO_BINLOG ("ANALYZE"; buildAnalyze of TiDB's source
//     answers error 1235), and statistics are of all servers. The sizes of
//     information_schema.tables are computed from them, as rows times their average length
//     ("SHOW TABLE STATUS"): what is stored on disk, compressed and in several copies, is
//     another number.
func dialects() []dialect {
	return []dialect{
		{
			name: "mysql", levels: levels(), snapshot: "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
			names:    "DO GET_LOCK($1, 0)",
			sessions: "SELECT id, concat_ws(' ', command, state) FROM information_schema.processlist WHERE IS_USED_LOCK(CONCAT($1, id)) = id",
			waits:    innodbWaits(), loads: true, optimizes: true, refresh: "ANALYZE NO_WRITE_TO_BINLOG TABLE",
		},
		{
			name: "tidb", product: "TiDB", levels: []string{readCommitted, repeatableRead}, checks: "tidb_enable_check_constraint",
			snapshot: "START TRANSACTION WITH CONSISTENT SNAPSHOT",
			names:    "SET SESSION tidb_session_alias = $1",
			sessions: "SELECT id, concat_ws(' ', command, state) FROM information_schema.cluster_processlist WHERE session_alias = CONCAT($1, id)",
			waits:    tidbWaits(), refresh: "ANALYZE TABLE", settings: "tidb_",
			where: "SELECT JSON_UNQUOTE(JSON_EXTRACT(@@tidb_config, '$.store'))",
		},
	}
}

// dialectNames are the values of dialectOption.
func dialectNames() (names []string) {
	for _, d := range dialects() {
		names = append(names, d.name)
	}
	return names
}

// dialectOf is the dialect of this name or, if that is empty, of a server whose
// version says this.
func dialectOf(name, version string) dialect {
	all := dialects()
	for _, d := range all[1:] {
		if d.name == name || name == "" && strings.Contains(version, d.product) {
			if !strings.Contains(version, d.product) {
				// It is being tried on MySQL or MariaDB, which have other tables and variables.
				d.names, d.sessions, d.waits, d.checks, d.settings, d.where = all[0].names, all[0].sessions, all[0].waits, "", "", ""
			}
			return d
		}
	}
	return all[0]
}

// sufficient refuses servers that take CHECK constraints and do not keep them:
// then accounts could be overdrawn.
func (d dialect) sufficient(s server) error {
	if d.checks != "" {
		if s.checks == "ON" {
			return nil
		}
		return fmt.Errorf("%s %s does not keep CHECK constraints; turn them on (SET GLOBAL %s = ON)", s.name, s.version, d.checks)
	}
	least := [3]int{8, 0, 16} // MySQL manual, "CHECK Constraints"
	if s.mariadb {
		least = [3]int{10, 2, 1} // MariaDB documentation, "CONSTRAINT"
	}
	found := versionNumbers().FindStringSubmatch(s.version)
	if found == nil {
		return fmt.Errorf("the server calls its version %q, which tells nothing", s.version)
	}
	var version [3]int
	for i := range version {
		version[i], _ = strconv.Atoi(found[1+i]) // digits; too many are the maximum
	}
	if slices.Compare(version[:], least[:]) < 0 {
		return fmt.Errorf("%s %s does not keep CHECK constraints; want %s %d.%d.%d or later", s.name, s.version, s.name, least[0], least[1], least[2])
	}
	return nil
}

// admits refuses an isolation level that the dialect lacks.
func (d dialect) admits(level string) error {
	if slices.Contains(d.levels, level) {
		return nil
	}
	return &store.OptionError{Option: "isolation level", Value: strings.ToLower(level),
		Want: strings.ToLower(strings.Join(d.levels, ", ")) + "; dialect " + d.name + " has no other"}
}
