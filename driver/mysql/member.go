package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"assay/driver/sqldb"
	"assay/store"
)

type kind string

const (
	kindAlone  kind = ""
	kindGalera kind = "node of the Galera cluster"
	kindGroup  kind = "member of the group"
	// kindBinlog: replicas follow a primary's binary log.
	kindBinlog kind = "replica of the server"
)

// member is a server's own account as one of several with the same data.
type member struct {
	kind kind
	// identity differs between servers; history is equal in an installation.
	identity, history string
	// apart says why the server's data differs, or is nil. catching means that it will catch up
	// by itself.
	apart    error
	catching bool
	// committed counts its commits in the common order; gtids is MySQL's set of transactions
	// instead.
	committed int64
	gtids     string
}

// lost reports whether the server is apart for good.
func (m member) lost() bool { return m.apart != nil && !m.catching }

// String is what it has committed.
func (m member) String() string {
	if m.gtids != "" {
		return strings.Join(strings.Fields(m.gtids), "")
	}
	return strconv.FormatInt(m.committed, 10)
}

func (p *schema) askMember(ctx context.Context, c *conn) (member, error) {
	switch {
	case c.look.galera:
		return c.askGalera(ctx)
	case c.look.grouped:
		return c.askGroupMember(ctx)
	case len(p.hosts) > 1:
		return c.askBinlog(ctx, p.server.mariadb)
	}
	return member{}, nil
}

// askGalera follows the Galera documentation, "Galera Status Variables".
func (c *conn) askGalera(ctx context.Context) (m member, err error) {
	status, err := c.pairs(ctx, `SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_gcomm_uuid', 'wsrep_cluster_state_uuid',
		'wsrep_cluster_status', 'wsrep_local_state_comment', 'wsrep_last_committed')`)
	if err != nil {
		return m, err
	}
	// wsrep_gcomm_uuid is new with each start.
	m = member{kind: kindGalera, identity: status["wsrep_gcomm_uuid"], history: status["wsrep_cluster_state_uuid"]}
	switch component, state := status["wsrep_cluster_status"], status["wsrep_local_state_comment"]; {
	case component != "Primary":
		m.apart = fmt.Errorf("it is in a component that is %s", component)
	case state != "Synced":
		m.apart, m.catching = fmt.Errorf("it is %s in a component that is %s", state, component), true
	}
	if m.committed, err = strconv.ParseInt(status["wsrep_last_committed"], 10, 64); err != nil {
		return m, errors.New("the Galera node does not tell what it has committed")
	}
	return m, nil
}

// askGroupMember follows the MySQL manual, "The replication_group_members Table".
func (c *conn) askGroupMember(ctx context.Context) (m member, err error) {
	g, err := c.askGroup(ctx)
	if err != nil || g.state == "" {
		return m, err
	}
	m = member{kind: kindGroup, apart: g.outside()}
	err = sqldb.One(ctx, c, `SELECT @@global.server_uuid, @@global.group_replication_group_name, @@global.gtid_executed`, nil,
		&m.identity, &m.history, &m.gtids)
	return m, err
}

// askBinlog follows the MySQL manual, "SHOW REPLICA STATUS Statement", and MariaDB's documentation,
// "SHOW REPLICA STATUS" and "Global Transaction ID". A server that follows none may be the primary.
// A server counts as alone if it hides from this user whether it follows another, has no global
// transaction ids, or has several domains of them (MariaDB).
func (c *conn) askBinlog(ctx context.Context, mariadb bool) (m member, err error) {
	show, uuid, executed := `SHOW REPLICA STATUS`, `@@global.server_uuid`, `@@global.gtid_executed`
	source, receives, applies := "Source_UUID", "Replica_IO_Running", "Replica_SQL_Running"
	if mariadb {
		show, uuid, executed = `SHOW SLAVE STATUS`, `CAST(@@global.server_id AS CHAR)`, `@@global.gtid_current_pos`
		source, receives, applies = "Master_Server_Id", "Slave_IO_Running", "Slave_SQL_Running"
	}
	status, err := c.firstRow(ctx, show)
	if err != nil {
		if hasCode(err, codePrivilege, codeParseError) { // an old MySQL has another word
			err = nil
		}
		return member{}, err
	}
	var at string
	if err := sqldb.One(ctx, c, `SELECT `+uuid+`, `+executed, nil, &m.identity, &at); err != nil || at == "" {
		return member{}, err
	}
	m.kind, m.history = kindBinlog, m.identity
	if status != nil {
		m.history = status[source]
		if status[receives] != "Yes" || status[applies] != "Yes" {
			m.apart = fmt.Errorf("it has stopped receiving (%s) or applying (%s)", status[receives], status[applies])
		}
	}
	if !mariadb {
		m.gtids = at
		return m, nil
	}
	parts := strings.Split(at, "-") // domain, server, sequence number
	if m.committed, err = strconv.ParseInt(parts[len(parts)-1], 10, 64); err != nil || strings.Contains(at, ",") {
		return member{}, nil
	}
	return m, nil
}

// firstRow is an answer's first row by column names, nil if there is none.
func (c *conn) firstRow(ctx context.Context, query string) (row map[string]string, err error) {
	err = c.values(ctx, func(values []driver.Value) error {
		if row != nil {
			return nil
		}
		row = make(map[string]string)
		for i, name := range c.answer.Columns() {
			row[name] = sqldb.TextOf(values[i])
		}
		return nil
	}, query)
	return row, err
}

// reached returns nil if the server, which is m, has committed what goal has.
func (m member) reached(ctx context.Context, c *conn, goal member) error {
	switch {
	case m.kind != goal.kind || m.history != goal.history:
		return fmt.Errorf("it is no %s that the run used", goal.kind)
	case m.apart != nil:
		return m.apart
	case m.committed < goal.committed:
		return fmt.Errorf("it has committed up to %d of %d", m.committed, goal.committed)
	case goal.gtids == "":
		return nil
	}
	var all bool
	err := sqldb.One(ctx, c, `SELECT GTID_SUBSET($1, @@global.gtid_executed)`, []store.Value{store.OfText(goal.gtids)}, &all)
	if err == nil && !all {
		err = errors.New("it has not committed all that the primary has")
	}
	return err
}
