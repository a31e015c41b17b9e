package binlog

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"assay/cluster/server"
)

// Dialect is what a product says in its own way.
type Dialect struct {
	// show asks a replica how it stands. The next are columns of the answer: whom it
	// follows, whether it receives and applies ("Yes", "No", "Connecting"), and the errors
	// at which it has stopped.
	show, host, port, receives, applies, receiveError, applyError string
	// stopReceiving lets go of the primary, and stop ends the applying too. forget makes a
	// replica a server that follows nobody.
	stopReceiving, stop, forget string
	// writes are the statements after which a server takes writes.
	writes []string
	// semisync is the variable by which a primary waits for a replica, and waiting the
	// status variable that says whether it does at present.
	semisync, waiting string
	// position asks how far a server is; status is its answer to show, nil of one that
	// follows nobody.
	position func(ctx context.Context, c *sql.Conn, status map[string]string) (position, error)
	// follow are the statements that make a server, which has stopped, a replica of another.
	follow func(primary *server.Node, l Login, silence time.Duration) []string
}

// position counts transactions from the beginning of the set on. All servers have the same
// ones in the same order, as far as they go: each but the primary gets them from another,
// and one that has others is made anew (see Set.admit).
type position struct {
	executed int64 // in the server's data
	received int64 // and in the log of what is to be applied
}

// Literal is a text in a statement.
func Literal(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// MariaDB is as its documentation has it: "Setting Up Replication", "Global Transaction ID",
// "Semisynchronous Replication", "CHANGE MASTER TO", "SHOW REPLICA STATUS".
func MariaDB() Dialect {
	return Dialect{
		show: "SHOW SLAVE STATUS", host: "Master_Host", port: "Master_Port", receives: "Slave_IO_Running", applies: "Slave_SQL_Running",
		receiveError: "Last_IO_Error", applyError: "Last_SQL_Error",
		stopReceiving: "STOP SLAVE IO_THREAD", stop: "STOP SLAVE", forget: "RESET SLAVE ALL",
		writes:   []string{"SET GLOBAL read_only = 0"},
		semisync: "rpl_semi_sync_master_enabled", waiting: "Rpl_semi_sync_master_status",
		position: func(ctx context.Context, c *sql.Conn, status map[string]string) (p position, err error) {
			at, err := Row(ctx, c, "SELECT @@global.gtid_current_pos AS here")
			if err == nil {
				p.executed, err = sequence(at["here"])
			}
			if err == nil {
				p.received, err = sequence(status["Gtid_IO_Pos"])
			}
			return p, err
		},
		follow: func(primary *server.Node, l Login, silence time.Duration) []string {
			return []string{
				// It may have been told to take writes without anybody hearing that it does.
				"SET GLOBAL read_only = 1",
				// What a former primary has written itself is not in its position as a replica.
				"SET GLOBAL gtid_slave_pos = @@global.gtid_current_pos",
				fmt.Sprintf("CHANGE MASTER TO MASTER_HOST = %s, MASTER_PORT = %d, MASTER_USER = %s, MASTER_PASSWORD = %s, "+
					"MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1, MASTER_HEARTBEAT_PERIOD = %.3f",
					Literal(primary.Host), primary.Port, Literal(l.User), Literal(l.Password), (silence / 4).Seconds()),
				"START SLAVE",
			}
		},
	}
}

// MySQL is as its manual has it: "Replication with Global Transaction Identifiers",
// "Semisynchronous Replication", "CHANGE REPLICATION SOURCE TO Statement", "SHOW REPLICA STATUS
// Statement". It takes MySQL 8.0.26 or later, which has these names.
func MySQL() Dialect {
	return Dialect{
		show: "SHOW REPLICA STATUS", host: "Source_Host", port: "Source_Port", receives: "Replica_IO_Running", applies: "Replica_SQL_Running",
		receiveError: "Last_IO_Error", applyError: "Last_SQL_Error",
		stopReceiving: "STOP REPLICA IO_THREAD", stop: "STOP REPLICA", forget: "RESET REPLICA ALL",
		writes:   []string{"SET GLOBAL super_read_only = OFF", "SET GLOBAL read_only = OFF"},
		semisync: "rpl_semi_sync_source_enabled", waiting: "Rpl_semi_sync_source_status",
		position: func(ctx context.Context, c *sql.Conn, status map[string]string) (p position, err error) {
			at, err := Row(ctx, c, "SELECT executed, GTID_SUBTRACT("+Literal(status["Retrieved_Gtid_Set"])+
				", executed) AS beyond FROM (SELECT @@global.gtid_executed AS executed) AS here")
			if err == nil {
				p.executed, err = CountGTIDs(at["executed"])
			}
			if err == nil {
				p.received, err = CountGTIDs(at["beyond"])
			}
			p.received += p.executed
			return p, err
		},
		follow: func(primary *server.Node, l Login, silence time.Duration) []string {
			return []string{
				fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST = %s, SOURCE_PORT = %d, SOURCE_USER = %s, SOURCE_PASSWORD = %s, "+
					"SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1, SOURCE_RETRY_COUNT = 86400, SOURCE_HEARTBEAT_PERIOD = %.3f",
					Literal(primary.Host), primary.Port, Literal(l.User), Literal(l.Password), (silence / 4).Seconds()),
				"START REPLICA",
			}
		},
	}
}

// sequence is the number of the last transaction of a MariaDB position such as 0-1-57 (domain,
// server, sequence number), of the only domain that there is; 0 for an empty one.
func sequence(position string) (int64, error) {
	if position == "" {
		return 0, nil
	}
	parts := strings.Split(position, "-")
	if len(parts) != 3 || strings.Contains(position, ",") {
		return 0, fmt.Errorf("%q is no position of one domain", position)
	}
	return strconv.ParseInt(parts[2], 10, 64)
}

// CountGTIDs is how many transactions a set of MySQL's holds, such as
// "3E11FA47-71CA-11E1-9E33-C80AA9429562:1-5:7, 4E11...:1" (MySQL manual, "GTID Format and
// Storage"). A tag may stand before intervals.
func CountGTIDs(set string) (n int64, err error) {
	for part := range strings.SplitSeq(set, ",") {
		for i, interval := range strings.Split(strings.TrimSpace(part), ":") {
			if i == 0 || interval == "" || interval[0] < '0' || interval[0] > '9' {
				continue // the server's UUID, or a tag
			}
			first, last, several := strings.Cut(interval, "-")
			if !several {
				last = first
			}
			from, err1 := strconv.ParseInt(first, 10, 64)
			to, err2 := strconv.ParseInt(last, 10, 64)
			if err1 != nil || err2 != nil || to < from {
				return 0, fmt.Errorf("%q is no interval of transactions", interval)
			}
			n += to - from + 1
		}
	}
	return n, nil
}
