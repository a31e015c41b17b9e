package mysql

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/isolation"
)

// TestLevelOnTheWay: a proxy turns repeatable read into read committed. The session is refused, and
// the error names both.
func TestLevelOnTheWay(t *testing.T) {
	proxy := drivertest.NewProxy(t, node.Node(0).Address())
	for rewritten, changes := range map[string]bool{"READ  COMMITTED": true, repeatableRead: false} {
		proxy.Rewrite(repeatableRead, rewritten)
		session, err := isolation.Open(t.Context(), openIsolation(t, at(repeatableRead, atHosts(proxy.Addr()))))
		changed := (*store.LevelError)(nil)
		if errors.As(err, &changed) != changes || changes && (changed.Asked != "repeatable read" || changed.InForce != "read committed") {
			t.Errorf("%s: %v", rewritten, err)
		}
		if err == nil {
			session.Close()
		}
	}
}

func openIsolation(t *testing.T, to store.Target) *schema {
	p, err := openSchema(t.Context(), to, isolation.Schema())
	expect.NoError(t, err)
	t.Cleanup(func() { p.Close() })
	expect.NoError(t, p.Create(t.Context(), store.Marker{Run: "r", Workload: isolation.Name, Created: time.Now()}))
	return p
}

// TestLevelOfTheTransaction: a transaction's level may differ from its session's.
func TestLevelOfTheTransaction(t *testing.T) {
	for set, changed := range map[string]bool{"": false, readCommitted: true, repeatableRead: false, serializable: true} {
		p := openIsolation(t, at(repeatableRead))
		expect.NoError(t, p.use(t.Context(), func(c *conn) error {
			if set != "" {
				_, err := c.Change(t.Context(), "SET TRANSACTION ISOLATION LEVEL "+set)
				expect.NoError(t, err)
			}
			err := p.keepsLevel(t.Context(), c)
			if told := (*store.LevelError)(nil); errors.As(err, &told) != changed || !changed && err != nil {
				t.Errorf("after %q: %v", set, err)
			}
			return nil
		}))
	}
}

// lyingServer changes sessions' level after the question.
type lyingServer struct {
	*schema
	level string
}

func (s *lyingServer) Connect(ctx context.Context, statements []sqldb.Statement) (sqldb.Connection, error) {
	c, err := s.schema.Connect(ctx, statements)
	if err == nil {
		_, err = c.(*sqldb.Session).Wire.(*session).Change(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL "+s.level)
	}
	return c, err
}

// TestSnapshotReadsAreJudged: if nothing reports the level, plain reads of one transaction from
// several snapshots betray it. The healthy server may show what repeatable read allows, such as
// write skew.
func TestSnapshotReadsAreJudged(t *testing.T) {
	for level, want := range map[string][]string{repeatableRead: {"valid", "allowed"}, readCommitted: {"violated"}} {
		each := map[string]int{repeatableRead: 60, readCommitted: 300}[level]
		for _, test := range []string{"append", "register", "predicate"} {
			p := openIsolation(t, at(repeatableRead))
			p.Server = &lyingServer{p, level}
			config := isolation.Defaults()
			config.Test, config.Keys, config.Length = test, 4, 8
			run := drivertest.ShortRun{Workload: isolation.Definition(), Config: &config, Seed: 1, Clients: 6, Each: each, Attempts: 20}
			j := run.Judge(t.Context(), t, p)
			if r := j.Results[0]; !slices.Contains(want, r.Verdict.String()) {
				t.Errorf("%s at %s: %v %s", test, level, r.Verdict, r.Detail)
			}
		}
	}
}
