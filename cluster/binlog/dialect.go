package binlog

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"assay/cluster/server"
)

// Dialect is the differences between the two products.
type Dialect struct {
	// show asks a replica for its state. The others are columns of the answer: whether it receives
	// and applies ("Yes", "No", "Connecting"), and the errors that stopped it.
	show, receives, applies, receiveError, applyError string
	// executed counts a server's transactions since the set's beginning. All servers have the same
	// ones in the same order.
	executed func(ctx context.Context, c *sql.Conn) (int64, error)
	// follow makes a server a replica of another.
	follow func(primary *server.Node, l Login) []string
}

// Literal quotes a text for SQL.
func Literal(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// MariaDB is from MariaDB's documentation: "Setting Up Replication", "Global Transaction ID",
// "CHANGE MASTER TO", "SHOW REPLICA STATUS".
func MariaDB() Dialect {
	return Dialect{
		show: "SHOW SLAVE STATUS", receives: "Slave_IO_Running", applies: "Slave_SQL_Running", receiveError: "Last_IO_Error", applyError: "Last_SQL_Error",
		executed: func(ctx context.Context, c *sql.Conn) (n int64, err error) {
			at, err := Row(ctx, c, "SELECT @@global.gtid_current_pos AS here")
			if err == nil {
				n, err = sequence(at["here"])
			}
			return n, err
		},
		follow: func(primary *server.Node, l Login) []string {
			return []string{
				fmt.Sprintf("CHANGE MASTER TO MASTER_HOST = %s, MASTER_PORT = %d, MASTER_USER = %s, MASTER_PASSWORD = %s, "+
					"MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1, MASTER_HEARTBEAT_PERIOD = %.3f",
					Literal(primary.Host), primary.Port, Literal(l.User), Literal(l.Password), (Silence / 4).Seconds()),
				"START SLAVE",
			}
		},
	}
}

// MySQL is from MySQL's manual: "Replication with Global Transaction Identifiers", "CHANGE
// REPLICATION SOURCE TO Statement", "SHOW REPLICA STATUS Statement". These names need MySQL 8.0.26.
func MySQL() Dialect {
	return Dialect{
		show: "SHOW REPLICA STATUS", receives: "Replica_IO_Running", applies: "Replica_SQL_Running", receiveError: "Last_IO_Error", applyError: "Last_SQL_Error",
		executed: func(ctx context.Context, c *sql.Conn) (n int64, err error) {
			at, err := Row(ctx, c, "SELECT @@global.gtid_executed AS here")
			if err == nil {
				n, err = CountGTIDs(at["here"])
			}
			return n, err
		},
		follow: func(primary *server.Node, l Login) []string {
			return []string{
				fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST = %s, SOURCE_PORT = %d, SOURCE_USER = %s, SOURCE_PASSWORD = %s, "+
					"SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1, SOURCE_RETRY_COUNT = 86400, SOURCE_HEARTBEAT_PERIOD = %.3f",
					Literal(primary.Host), primary.Port, Literal(l.User), Literal(l.Password), (Silence / 4).Seconds()),
				"START REPLICA",
			}
		},
	}
}

// sequence is the last transaction's number in a MariaDB position such as 0-1-57 (domain, server,
// sequence number). There is only one domain. An empty position is 0.
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

// CountGTIDs counts the transactions in a set of MySQL's, such as
// "3E11FA47-71CA-11E1-9E33-C80AA9429562:1-5:7, 4E11...:1" (MySQL manual, "GTID Format and
// Storage"). Tags may precede intervals.
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
