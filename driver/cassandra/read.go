package cassandra

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"assay/internal/wait"
)

// Size of a page, and how often an unanswered page is asked for again: reading has no effect, and
// returning nodes are slow at first.
const (
	pageSize  = 1000
	pageTries = 3
	pagePause = time.Second
)

// readPages reads a table by pages in any order. It calls row after scan is filled, and returns
// row's error unchanged. It is no snapshot, but sees all rows that are there before.
//
// Pages are read with consistency ALL, to find rows that only one replica has. While not all
// replicas answer, pages are read with QUORUM, if that sees every write that was acknowledged.
// Otherwise the error stays: a row that is not seen would be called lost.
func (k *database) readPages(ctx context.Context, doing, statement string, values, scan []any, row func() error) error {
	var state []byte
	level := gocql.All
	for try := 1; ; try++ {
		iter := k.session.Query(statement, values...).Consistency(level).PageSize(pageSize).PageState(state).IterContext(ctx)
		next := iter.PageState()
		// All rows of a page are here when the first is.
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
		case level == gocql.All && k.quorumSees(ctx):
			level, try = gocql.Quorum, 0
		case level == gocql.All:
			return failed(doing, fmt.Errorf("not all replicas answer, and a quorum may lack what was written with consistency %s; start the nodes that are down: %w",
				strings.ToLower(k.consistency.String()), err))
		default:
			return failed(doing, err)
		}
	}
}

// quorumSees reports whether a read with QUORUM sees every acknowledged write.
func (k *database) quorumSees(ctx context.Context) bool {
	if k.consistency == gocql.Quorum || k.consistency == gocql.All {
		return true
	}
	if k.schema.Existing { // with copies that somebody else chose
		return false
	}
	copies, err := k.replicas(ctx)
	return err == nil && quorumMeets(copies, k.consistency)
}

// quorumMeets reports whether a quorum of all copies, by their data centers, has one that has
// acknowledged a write of this level: R + W > N (Cassandra documentation, "Dynamo", "Picking
// Consistency Levels").
func quorumMeets(copies map[string]int, writes gocql.Consistency) bool {
	all, local := 0, math.MaxInt
	for _, n := range copies {
		all += n
		local = min(local, n/2+1)
	}
	acknowledge := map[gocql.Consistency]int{gocql.One: 1, gocql.LocalOne: 1, gocql.Two: 2, gocql.Three: 3, gocql.LocalQuorum: local, gocql.Quorum: all/2 + 1, gocql.All: all}
	return all/2+1+acknowledge[writes] > all
}

// count counts rows by pages: count(*) of a large table exceeds a coordinator's timeout.
func (k *database) count(ctx context.Context, t table) (n int64, err error) {
	err = k.readPages(ctx, "count table "+t.name, "SELECT "+t.counted+" FROM "+k.full(t.name), nil, []any{nil}, func() error {
		n++
		return nil
	})
	return n, err
}

// defaultWriteTimeout is Cassandra's write_request_timeout.
const defaultWriteTimeout = 2 * time.Second

// settle waits after the last unanswered write: for write_request_timeout, during which coordinator
// and replicas work on it, and until this query gets a write's consistency. Cassandra does not show
// what is in flight.
//
// Hints may remain, which a coordinator delivers when a replica returns. So an unanswered write may
// appear later still. The judgement allows for that: such a row may be there or not.
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
