package cassandra

import (
	"context"
	"errors"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"assay/internal/wait"
)

// Reading back is done by pages of this many rows. A page that is not answered
// is asked for again so many times: reading has no effect, and nodes that were
// away are slow at first.
const (
	pageSize  = 1000
	pageTries = 3
	pagePause = time.Second
)

// readPages reads a table by pages, in any order, and calls row for each
// row with what scan has filled. It returns row's error as it is. It is not one
// snapshot, which Cassandra does not have; rows that are there before it begins
// are seen.
//
// Each page is read with consistency ALL, so that a row that a single replica
// holds is found, whatever the consistency was that it was written with. While
// not all replicas answer, pages are read with QUORUM.
func (k *database) readPages(ctx context.Context, doing, statement string, values, scan []any, row func() error) error {
	var state []byte
	level := gocql.All
	for try := 1; ; try++ {
		iter := k.session.Query(statement, values...).Consistency(level).PageSize(pageSize).PageState(state).IterContext(ctx)
		next := iter.PageState()
		// All rows of a page have come when the first can be had.
		for range iter.NumRows() {
			if !iter.Scan(scan...) {
				break
			}
			if err := row(); err != nil {
				_ = iter.Close() // the rest is not read
				return err
			}
		}
		err := iter.Close()
		switch {
		case err == nil && len(next) == 0:
			return nil
		case err == nil:
			state, try = next, 0
		case ctx.Err() != nil || iter.NumRows() > 0 || classOf(err) == classRefused:
			return failed(doing, err)
		case try < pageTries:
			if stopped := wait.Pause(ctx, pagePause); stopped != nil {
				return failed(doing, errors.Join(stopped, err))
			}
		case level == gocql.All:
			level, try = gocql.Quorum, 0
		default:
			return failed(doing, err)
		}
	}
}

// count counts a table's rows by pages: a count(*) of a large table takes longer
// than a coordinator waits.
func (k *database) count(ctx context.Context, t table) (n int64, err error) {
	err = k.readPages(ctx, "count table "+t.name, "SELECT "+t.counted+" FROM "+k.full(t.name), nil, []any{nil}, func() error {
		n++
		return nil
	})
	return n, err
}

// defaultWriteTimeout is Cassandra's write_request_timeout.
const defaultWriteTimeout = 2 * time.Second

// settle waits, after the last write without an answer, for as long as a
// coordinator and the replicas work on a write (write_request_timeout), and
// until a write's consistency can be had again for this query. Cassandra does
// not show what is in flight.
//
// What is not over by then are hints: writes that a coordinator keeps for a
// replica that was away, and delivers when it is back. So a write that ended
// without an answer may come to light later still. That is no surprise for
// whoever judges: such a row may be there or not.
func (k *database) settle(ctx context.Context, query string, values ...any) error {
	if at := k.unsure.Load(); at != 0 {
		limit := defaultWriteTimeout
		if set, err := time.ParseDuration(k.settingsOf(ctx, asked())["write_request_timeout"]); err == nil {
			limit = set
		}
		if err := wait.Pause(ctx, time.Until(time.Unix(0, at).Add(limit))); err != nil {
			return failed("settle", err)
		}
	}
	for {
		err := k.session.Query(query, values...).Consistency(k.consistency).ScanContext(ctx, nil)
		if err == nil || errors.Is(err, gocql.ErrNotFound) || classOf(err) == classRefused {
			return nil
		}
		if stopped := wait.Pause(ctx, pagePause/4); stopped != nil {
			return failed("settle", errors.Join(stopped, err))
		}
	}
}
