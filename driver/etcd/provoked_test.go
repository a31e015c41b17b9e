package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cluster "assay/cluster/etcd"
	"assay/driver/ordered"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
)

func pairs() store.Schema {
	return store.Schema{Workload: "pairs", Transactions: true, Tables: []store.Table{{
		Name: "pair", Columns: append(store.Integers("id"), store.Column{Name: "content", Type: store.String, Length: 4_000_000})}}}
}

const (
	insertPair = iota
	setPair
	deletePair
	readPair
	scanPairs
)

func pairStatements() []store.Statement {
	above := []store.Condition{{Column: "id", Is: store.AtLeast, Value: store.Parameter(1)}, {Column: "id", Is: store.Below, Value: store.Parameter(2)}}
	return []store.Statement{
		{Name: "insert", Verb: store.Insert, Table: "pair", Columns: []string{"id", "content"}},
		{Name: "set", Verb: store.Update, Table: "pair", Where: store.Where("id"), Set: []store.Assignment{store.Set("content", store.Parameter(2))}},
		{Name: "delete", Verb: store.Delete, Table: "pair", Where: store.Where("id")},
		{Name: "read", Verb: store.Read, Table: "pair", Columns: []string{"content"}, Where: store.Where("id")},
		{Name: "scan", Verb: store.Read, Table: "pair", Columns: []string{"id"}, Where: above, Order: []string{"id"}},
	}
}

func client(t *testing.T, d *database) *session {
	t.Helper()
	n, err := d.Session(t.Context(), pairStatements())
	expect.NoError(t, err)
	t.Cleanup(n.Close)
	return n.(*session)
}

func pair(id int64, content ...string) []store.Value {
	values := []store.Value{store.OfInt(id)}
	for _, c := range content {
		values = append(values, store.OfText(c))
	}
	return values
}

func do(t *testing.T, n *session, statement int, parameters ...store.Value) store.Reply {
	return n.Run(t.Context(), store.Call{Statement: statement, Parameters: parameters})
}

func mustDo(t *testing.T, n *session, statement int, parameters ...store.Value) {
	t.Helper()
	if r := do(t, n, statement, parameters...); r.Outcome != history.Committed {
		t.Fatalf("%+v, want committed", r)
	}
}

func read(t *testing.T, n *session, id int64) (found []string) {
	t.Helper()
	r := n.Run(t.Context(), store.Call{Statement: readPair, Parameters: pair(id), Row: func(row store.Row) error {
		found = append(found, "")
		return row.Scan(&found[len(found)-1])
	}})
	if r.Outcome != history.Committed {
		t.Fatalf("%+v, want committed", r)
	}
	return found
}

func ignore(store.Row) error { return nil }

// testTransactions changes what a transaction read before its commit, in each way. The commit is
// refused and leaves nothing.
func testTransactions(t *testing.T, c *cluster.Cluster) {
	for name, step := range map[string]struct {
		reads   func(ctx context.Context, tx store.Transaction) error
		between func(n *session)
		refused bool
	}{
		"a row that is set":             {readOne(1), func(n *session) { mustDo(t, n, setPair, pair(1, "other")...) }, true},
		"a row that is deleted":         {readOne(1), func(n *session) { mustDo(t, n, deletePair, pair(1)...) }, true},
		"a row that comes":              {readOne(5), func(n *session) { mustDo(t, n, insertPair, pair(5, "new")...) }, true},
		"a range in which a row comes":  {readRange(0, 9), func(n *session) { mustDo(t, n, insertPair, pair(5, "new")...) }, true},
		"a range in which a row goes":   {readRange(0, 9), func(n *session) { mustDo(t, n, deletePair, pair(2)...) }, true},
		"a range in which a row is set": {readRange(0, 9), func(n *session) { mustDo(t, n, setPair, pair(2, "other")...) }, true},
		"an empty range that is filled": {readRange(40, 50), func(n *session) { mustDo(t, n, insertPair, pair(45, "new")...) }, true},
		"a range beside":                {readRange(0, 3), func(n *session) { mustDo(t, n, insertPair, pair(5, "new")...) }, false},
		"another row":                   {readOne(1), func(n *session) { mustDo(t, n, setPair, pair(2, "other")...) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := created(t, targetOf(c, ""), pairs())
			defer d.Drop(context.Background())
			one, other := client(t, d), client(t, d)
			mustDo(t, one, insertPair, pair(1, "a")...)
			mustDo(t, one, insertPair, pair(2, "b")...)
			r := one.Transaction(t.Context(), true, func(ctx context.Context, tx store.Transaction) error {
				err := step.reads(ctx, tx)
				step.between(other)
				_, err2 := tx.Do(ctx, insertPair, nil, pair(100, "written")...)
				return errors.Join(err, err2)
			})
			written := read(t, other, 100)
			if step.refused != (r.Outcome == history.Failed && r.Conflict() && !r.Broken) || !step.refused && r.Outcome != history.Committed || step.refused != (written == nil) {
				t.Errorf("%+v, and %q was written", r, written)
			}
		})
	}
}

func readOne(id int64) func(context.Context, store.Transaction) error {
	return func(ctx context.Context, tx store.Transaction) error {
		_, err := tx.Do(ctx, readPair, ignore, pair(id)...)
		return err
	}
}

func readRange(from, to int64) func(context.Context, store.Transaction) error {
	return func(ctx context.Context, tx store.Transaction) error {
		_, err := tx.Do(ctx, scanPairs, ignore, store.OfInts(from, to)...)
		return err
	}
}

// testProven provokes each proof of no effect.
func testProven(t *testing.T, c *cluster.Cluster) {
	d := created(t, targetOf(c, ""), pairs())
	expect.AtEnd(t, func() error { return d.Drop(context.Background()) })
	n := client(t, d)
	want := func(what string, r store.Reply, class string, broken bool) {
		t.Helper()
		if r.Outcome != history.Failed || r.Class != class || r.Broken != broken || r.Err == nil {
			t.Errorf("%s: %+v; want failed, %q, broken: %v", what, r, class, broken)
		}
	}
	many := func(rows int64) store.Reply {
		return n.Transaction(t.Context(), true, func(ctx context.Context, tx store.Transaction) error {
			for id := range rows {
				if _, err := tx.Do(ctx, insertPair, nil, pair(1000+id, "x")...); err != nil {
					return err
				}
			}
			return nil
		})
	}
	want("more keys than a request compares", many(maxOps), ordered.ClassTooLarge, false)
	if r := many(maxOps - 1); r.Outcome != history.Committed {
		t.Errorf("as many keys as a request compares: %+v", r)
	}
	want("a request of more than 1.5 MiB", do(t, n, insertPair, pair(7, strings.Repeat("x", 1_700_000))...), ordered.ClassTooLarge, false)
	want("a key that is there", do(t, n, insertPair, pair(1000, "again")...), store.ClassDuplicate, false)
	if got := read(t, n, 7); got != nil {
		t.Errorf("what was refused is there, %d bytes", len(got[0]))
	}

	expect.NoError(t, d.Settle(t.Context()))
	want("a session from before Settle", do(t, n, insertPair, pair(8, "late")...), store.ClassSerialization, true)
	n = client(t, d)
	if got := read(t, n, 8); got != nil {
		t.Error("what came after Settle is there")
	}
	mustDo(t, n, insertPair, pair(8, "new session")...)

	for name, q := range map[string]struct {
		revision int64
		class    string
	}{"a revision that is to come": {1 << 40, classFuture}, "one that was compacted": {1, classCompacted}} {
		if q.class == classCompacted {
			present, err := d.present(d.conn.reader(t.Context()))
			expect.NoError(t, err)
			_, err = d.conn.kv.Compact(t.Context(), &pb.CompactionRequest{Revision: present, Physical: true})
			expect.NoError(t, err)
		}
		_, sent, err := call(t.Context(), d.conn.kv.Range, &pb.RangeRequest{Key: []byte("x"), Revision: q.revision})
		if outcome, class := judge(err, sent); outcome != history.Failed || class != q.class || !sent {
			t.Errorf("%s: %v, %v, %q", name, err, outcome, class)
		}
	}
	_, sent, err := call(t.Context(), d.conn.kv.Put, &pb.PutRequest{Value: []byte("without a key")})
	if outcome, class := judge(err, sent); outcome != history.Failed || class != classMalformed {
		t.Errorf("a request without a key: %v, %v, %q", err, outcome, class)
	}
}

// TestNoSpace: after the quota is used up nothing is proven, and Blocked says why.
func TestNoSpace(t *testing.T) {
	c := startCluster(t, 1, "--quota-backend-bytes=16777216")
	d := created(t, targetOf(c, ""), pairs())
	n := client(t, d)
	ctx := expect.Patiently(t)
	for id := int64(0); ; id++ {
		r := n.Run(ctx, store.Call{Statement: insertPair, Parameters: pair(id, strings.Repeat("x", 500_000))})
		if r.Outcome == history.Committed {
			continue
		}
		if r.Outcome != history.Unknown || r.Class != classNoSpace {
			t.Errorf("row %d: %+v; want unknown, %q", id, r, classNoSpace)
		}
		break
	}
	if by, err := d.Blocked(t.Context()); err != nil || !strings.Contains(by, "NOSPACE") {
		t.Errorf("Blocked: %q, %v", by, err)
	}
	if got := read(t, n, 0); len(got) != 1 {
		t.Errorf("nothing is read any more: %d rows", len(got))
	}
}

// TestNobodyListens: unsent requests have no effect.
func TestNobodyListens(t *testing.T) {
	c := startCluster(t, 1)
	d := created(t, targetOf(c, ""), pairs())
	n := client(t, d)
	expect.NoError(t, c.Node(0).Kill())
	ctx := expect.Patiently(t)
	for ctx.Err() == nil { // the first may meet the end of the connection
		r := n.Run(ctx, store.Call{Statement: insertPair, Parameters: pair(1, "a")})
		if r.Outcome == history.Committed || !r.Broken {
			t.Fatalf("%+v; want it failed or unknown, and the session broken", r)
		}
		if r.Outcome == history.Failed {
			if r.Class != store.ClassConnect {
				t.Errorf("%+v; want %q", r, store.ClassConnect)
			}
			break
		}
	}
	if _, err := d.Session(ctx, pairStatements()); !errors.As(err, new(*store.UnreachableError)) {
		t.Errorf("a session: %v; want *store.UnreachableError", err)
	}
}

// TestMeanings: only the table's texts prove something.
func TestMeanings(t *testing.T) {
	for text, want := range map[string]struct {
		outcome history.Outcome
		class   string
	}{
		"etcdserver: too many requests":                                          {history.Failed, classTooMany},
		"etcdserver: no leader":                                                  {history.Failed, classNoLeader},
		"raft proposal dropped":                                                  {history.Failed, classNoLeader},
		"etcdserver: request is too large":                                       {history.Failed, ordered.ClassTooLarge},
		"etcdserver: permission denied":                                          {history.Failed, classAuth},
		"etcdserver: invalid auth token":                                         {history.Failed, classAuth},
		"etcdserver: request timed out":                                          {history.Unknown, store.ClassTimeout},
		"etcdserver: request timed out, possibly due to previous leader failure": {history.Unknown, store.ClassTimeout},
		"etcdserver: request timed out, possibly due to connection lost":         {history.Unknown, store.ClassTimeout},
		"context deadline exceeded":                                              {history.Unknown, store.ClassTimeout},
		"context canceled":                                                       {history.Unknown, store.ClassTimeout},
		"etcdserver: leader changed":                                             {history.Unknown, classLeader},
		"etcdserver: server stopped":                                             {history.Unknown, store.ClassShutdown},
		"raft: stopped":                                                          {history.Unknown, store.ClassShutdown},
		"etcdserver: mvcc: database space exceeded":                              {history.Unknown, classNoSpace},
		"etcdserver: corrupt cluster":                                            {history.Unknown, classCorrupt},
		"something else":                                                         {history.Unknown, store.ClassOther},
	} {
		if outcome, class := judge(status.Error(codes.Unknown, text), true); outcome != want.outcome || class != want.class {
			t.Errorf("%q: %v, %q; want %v, %q", text, outcome, class, want.outcome, want.class)
		}
	}
	for text, want := range map[string]bool{"context deadline exceeded": true, "context canceled": true, "etcdserver: invalid auth token": true, "etcdserver: request timed out": false} {
		if err := fmt.Errorf("insert: %w", status.Error(codes.Unknown, text)); broken(err) != want {
			t.Errorf("%v: the session is broken: %v", err, !want)
		}
	}
	for _, code := range []codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Internal} {
		for _, sent := range []bool{false, true} {
			want := history.Failed
			if sent {
				want = history.Unknown
			}
			if outcome, class := judge(status.Error(code, "text"), sent); outcome != want || class == "" {
				t.Errorf("%v, sent: %v: %v, %q", code, sent, outcome, class)
			}
		}
	}
}
