package mysql

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/store"
)

const dialectOption = "dialect"

// dialect has the differences between products with MySQL's protocol. MariaDB and MySQL share one,
// since their servers report all differences.
type dialect struct {
	name string
	// product is the server's name; empty if its version tells it.
	product string
	levels  []string
	// checks is the variable that must be ON for CHECK constraints; empty if the version decides.
	checks string
	// snapshot begins a read-only transaction on one state.
	snapshot string
	// names gives a connection the name $1. sessions lists ids and states of connections named
	// $1 and their id.
	names, sessions string
	waits           waits
	// loads: LOAD DATA in a transaction is the way to load.
	loads bool
	// optimizes: OPTIMIZE TABLE gives back space, and tables have several engines. Otherwise
	// where asks for the only engine.
	optimizes bool
	where     string
	// settings is the prefix of variables that say how the server works; MySQL's then exist but
	// mean nothing.
	settings string
	// refresh precedes a table's name and updates its statistics, on this server alone if that
	// is possible.
	refresh string
}

// dialects are all dialects, first that of MySQL and MariaDB.
//
// TiDB's behaviour is from its documentation ("TiDB Docs", v8.5) or the named source. No test has a
// TiDB server:
//
//   - It has snapshot isolation, called REPEATABLE-READ, and read committed ("TiDB Transaction
//     Isolation Levels"). A pessimistic transaction changes the latest version and not its
//     snapshot's ("Difference between TiDB and MySQL Repeatable Read"), so only read committed is
//     promised, as for InnoDB. An optimistic one (tidb_txn_mode) is refused at commit if its rows
//     were changed since its beginning ("TiDB Optimistic Transaction Model").
//   - CHECK constraints need tidb_enable_check_constraint ("Constraints").
//   - READ ONLY transactions are refused by default ("START TRANSACTION"), so a snapshot does
//     without.
//   - PROCESSLIST lists a server's own sessions, CLUSTER_PROCESSLIST all. Sessions are named by
//     tidb_session_alias: for another session's lock IS_USED_LOCK returns 1 and not the holder
//     (IsUsedAdvisoryLock), and it takes a second.
//   - TIDB_TRX replaces information_schema.innodb_trx. A transaction that waits for a lock is
//     LockWaiting, as is for a moment any that takes one.
//   - Every table says InnoDB; "tidb_config" (store) has the real storage. The variables innodb_*
//     and those of a binary log do nothing, except innodb_lock_wait_timeout ("System Variables").
//   - Rows are loaded by INSERT: LOAD DATA was not tried.
//   - There is no OPTIMIZE TABLE ("MySQL Compatibility"); garbage collection and compaction give
//     space back.
//   - ANALYZE TABLE has no NO_WRITE_TO_BINLOG (buildAnalyze answers error 1235), and statistics are
//     of all servers. Sizes in information_schema.tables are rows times their average length ("SHOW
//     TABLE STATUS"), not the compressed copies on disk.
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

func dialectNames() (names []string) {
	for _, d := range dialects() {
		names = append(names, d.name)
	}
	return names
}

// dialectOf is the named dialect or, without a name, that of a server with this version.
func dialectOf(name, version string) dialect {
	all := dialects()
	for _, d := range all[1:] {
		if d.name == name || name == "" && strings.Contains(version, d.product) {
			if !strings.Contains(version, d.product) {
				// The dialect is tried on MySQL or MariaDB, which have other tables and variables.
				d.names, d.sessions, d.waits, d.checks, d.settings, d.where = all[0].names, all[0].sessions, all[0].waits, "", "", ""
			}
			return d
		}
	}
	return all[0]
}

// sufficient refuses servers that accept CHECK constraints without enforcing them, since accounts
// could be overdrawn.
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

func (d dialect) admits(level string) error {
	if slices.Contains(d.levels, level) {
		return nil
	}
	return &store.OptionError{Option: "isolation level", Value: strings.ToLower(level),
		Want: strings.ToLower(strings.Join(d.levels, ", ")) + "; dialect " + d.name + " has no other"}
}
