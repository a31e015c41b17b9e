package cassandra

import (
	"context"
	"errors"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// Reading back is done by pages of this many rows. A page that is not answered
// is asked for again so many times: reading has no effect, and nodes that were
// away are slow at first.
const (
	pageSize  = 1000
	pageTries = 3
	pagePause = time.Second
)

// scan reads a whole table by pages and gives each row of two numbers, in any
// order. It is not one snapshot, which Cassandra does not have; rows that are
// there before it begins are seen.
//
// Each page is read with consistency ALL, so that a row that a single replica
// holds is found, whatever the consistency was that it was written with. While
// not all replicas answer, pages are read with QUORUM.
func (k *keyspace) scan(ctx context.Context, doing, statement string, row func(a, b int64) error) error {
	var state []byte
	level := gocql.All
	for {
		page, next, err := k.page(ctx, statement, state, level)
		if err != nil && level == gocql.All && ctx.Err() == nil {
			level = gocql.Quorum
			page, next, err = k.page(ctx, statement, state, level)
		}
		if err != nil {
			return failed(doing, err)
		}
		for _, r := range page {
			if err := row(r[0], r[1]); err != nil {
				return err
			}
		}
		if len(next) == 0 {
			return nil
		}
		state = next
	}
}

// page reads the page that begins at state.
func (k *keyspace) page(ctx context.Context, statement string, state []byte, level gocql.Consistency) (rows [][2]int64, next []byte, err error) {
	for try := range pageTries {
		if try > 0 {
			if stopped := pause(ctx, pagePause); stopped != nil {
				return nil, nil, errors.Join(stopped, err)
			}
		}
		iter := k.session.Query(statement).Consistency(level).PageSize(pageSize).PageState(state).IterContext(ctx)
		rows, next = rows[:0], iter.PageState()
		var r [2]int64
		for range iter.NumRows() {
			if !iter.Scan(&r[0], &r[1]) {
				break
			}
			rows = append(rows, r)
		}
		if err = iter.Close(); err == nil {
			return rows, next, nil
		}
		if ctx.Err() != nil || classOf(err) == classRefused {
			break
		}
	}
	return nil, nil, err
}

// count counts a table's rows.
func (k *keyspace) count(ctx context.Context, table string) (n int64, err error) {
	err = k.scan(ctx, "count table "+table, "SELECT key, value FROM "+k.full(table), func(int64, int64) error {
		n++
		return nil
	})
	return n, err
}
