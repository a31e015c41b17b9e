package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"assay/driver/sqldb"
)

// kind is how servers hold the same.
type kind string

const (
	kindAlone  kind = ""
	kindGalera kind = "node of the Galera cluster"
	// kindBinlog: replicas follow a primary by its binary log.
	kindBinlog kind = "replica of the server"
)

// member is what a server says of itself as one of several that hold the same.
type member struct {
	kind kind
	// identity tells it from others; history is the same for all of an installation.
	identity, history string
	// apart says why it does not hold what the others do; nil if it does. catching is true of
	// one that will by itself.
	apart    error
	catching bool
	// committed counts what it has committed, in the order that is the same for all.
	committed int64
}

// lost reports whether the server is apart, and will not come back by itself.
func (m member) lost() bool { return m.apart != nil && !m.catching }

// askMember asks a server what it is to others.
func (p *schema) askMember(ctx context.Context, c *conn) (member, error) {
	switch {
	case c.look.galera:
		return c.askGalera(ctx)
	case len(p.hosts) > 1 && p.server.mariadb:
		return c.askBinlog(ctx)
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

// askBinlog follows MariaDB's documentation, "SHOW REPLICA STATUS" and "Global Transaction ID". A
// server that follows nobody may be the primary. One that does not tell this user whether it
// follows another, or has not exactly one domain of global transaction ids, counts as alone.
func (c *conn) askBinlog(ctx context.Context) (m member, err error) {
	status, err := c.named(ctx, `SHOW SLAVE STATUS`)
	if err != nil {
		if hasCode(err, codePrivilege) {
			err = nil
		}
		return member{}, err
	}
	var at string
	err = sqldb.One(ctx, c, `SELECT CAST(@@global.server_id AS CHAR), @@global.gtid_current_pos`, nil, &m.identity, &at)
	if err != nil || at == "" {
		return member{}, err
	}
	m.kind, m.history = kindBinlog, m.identity
	if status != nil {
		m.history = status["Master_Server_Id"]
		if receives, applies := status["Slave_IO_Running"], status["Slave_SQL_Running"]; receives != "Yes" || applies != "Yes" {
			m.apart = fmt.Errorf("it has stopped receiving (%s) or applying (%s)", receives, applies)
		}
	}
	parts := strings.Split(at, "-") // domain, server, sequence number
	if m.committed, err = strconv.ParseInt(parts[len(parts)-1], 10, 64); err != nil || strings.Contains(at, ",") {
		return member{}, nil
	}
	return m, nil
}

// named is the first row of an answer by the names of its columns; nil if there is none.
func (c *conn) named(ctx context.Context, query string) (row map[string]string, err error) {
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

// reached is nil if the server has committed what goal has.
func (m member) reached(goal member) error {
	switch {
	case m.kind != goal.kind || m.history != goal.history:
		return fmt.Errorf("it is no %s that the run used", goal.kind)
	case m.apart != nil:
		return m.apart
	case m.committed < goal.committed:
		return fmt.Errorf("it has committed up to %d of %d", m.committed, goal.committed)
	}
	return nil
}
