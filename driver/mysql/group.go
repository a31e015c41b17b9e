package mysql

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strconv"

	"assay/driver/sqldb"
)

// group is a member's account of its group (MySQL manual, "The replication_group_members Table").
type group struct {
	id      string // the member's own, as the group has it
	state   string // the member's own; empty if it is in none, or this user is not told
	size    int    // members
	reached int    // of these, those that it does not take for unreachable
}

// outside is nil for a member that can commit, and for a server without a group.
func (g group) outside() error {
	switch {
	case g.state == "":
		return nil
	case g.state != "ONLINE":
		return fmt.Errorf("it is %s in its group", g.state)
	case !g.majority():
		return fmt.Errorf("it reaches %d of the %d members of its group, which is no majority", g.reached, g.size)
	}
	return nil
}

func (g group) majority() bool { return 2*g.reached > g.size }

func (c *conn) askGroup(ctx context.Context) (g group, err error) {
	err = c.values(ctx, func(row []driver.Value) error {
		g.size++
		if sqldb.TextOf(row[1]) != "UNREACHABLE" {
			g.reached++
		}
		if own, _ := strconv.Atoi(sqldb.TextOf(row[0])); own == 1 { // 0 or 1, as the server compares
			g.state, g.id = sqldb.TextOf(row[1]), sqldb.TextOf(row[2])
		}
		return nil
	}, `SELECT MEMBER_ID = @@global.server_uuid, MEMBER_STATE, MEMBER_ID FROM performance_schema.replication_group_members WHERE MEMBER_ID <> ''`)
	if hasCode(err, codeTableDenied) {
		return group{}, nil
	}
	return g, err
}
