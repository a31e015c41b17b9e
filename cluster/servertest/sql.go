//go:build unix

package servertest

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"assay/cluster/server"
	"assay/internal/expect"
)

// SQL is a client of a server of MySQL or MariaDB at host:port.
func SQL(t *testing.T, at string, user *url.Userinfo) *sql.DB {
	t.Helper()
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr = user.Username(), "tcp", at
	config.Passwd, _ = user.Password()
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	expect.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return db
}

// SQLAt is a client of the only server of an address, as the address's user.
func SQLAt(t *testing.T, address string) *sql.DB {
	t.Helper()
	u, err := url.Parse(address)
	expect.NoError(t, err)
	return SQL(t, u.Host, u.User)
}

// Execute executes a statement.
func Execute(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	if _, err := db.ExecContext(expect.Patiently(t), text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// Value returns the only value of a query as a text.
func Value(t *testing.T, db *sql.DB, text string) (value string) {
	t.Helper()
	if err := db.QueryRowContext(expect.Patiently(t), text).Scan(&value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

// Replicated is a cluster of MySQL or MariaDB.
type Replicated interface {
	Address() string
	Node(i int) *server.Node
	Primary(ctx context.Context) (int, error)
	Restart(ctx context.Context, i int, env ...string) error
	Settled(ctx context.Context) error
}

// Probe is the table probe.t of numbers on such a cluster.
type Probe struct {
	Replicated
	t     *testing.T
	nodes int
}

// NewProbe makes the table through the first node.
func NewProbe(t *testing.T, c Replicated, nodes int) *Probe {
	t.Helper()
	p := &Probe{c, t, nodes}
	p.Execute(0, "CREATE DATABASE probe")
	p.Execute(0, "CREATE TABLE probe.t (id INT PRIMARY KEY)")
	return p
}

// Client is a client of node i.
func (p *Probe) Client(i int) *sql.DB {
	p.t.Helper()
	u, err := url.Parse(p.Address())
	expect.NoError(p.t, err)
	return SQL(p.t, p.Node(i).Address(), u.User)
}

// Execute repeats a statement on node i until it succeeds, as after the loss of a node.
func (p *Probe) Execute(i int, text string) {
	p.t.Helper()
	p.execute(func(context.Context) (int, error) { return i, nil }, text)
}

func (p *Probe) execute(by func(context.Context) (int, error), text string) {
	p.t.Helper()
	expect.NoError(p.t, server.Until(expect.Patiently(p.t), 20*time.Millisecond, text, func(ctx context.Context) error {
		i, err := by(ctx)
		if err != nil {
			return err
		}
		bounded, cancel := context.WithTimeout(ctx, 15*time.Second)
		defer cancel()
		_, err = p.Client(i).ExecContext(bounded, text)
		return err
	}))
}

func insertion(id int) string {
	return fmt.Sprintf("INSERT INTO probe.t VALUES (%d) ON DUPLICATE KEY UPDATE id = id", id)
}

// Insert writes a number through node i, Write through the node that takes writes.
func (p *Probe) Insert(i, id int) { p.t.Helper(); p.Execute(i, insertion(id)) }
func (p *Probe) Write(id int)     { p.t.Helper(); p.execute(p.Primary, insertion(id)) }

// Value returns the only value of a query on node i.
func (p *Probe) Value(i int, text string) string {
	p.t.Helper()
	return Value(p.t, p.Client(i), text)
}

// MustHold requires that all running nodes are in step and have these numbers.
func (p *Probe) MustHold(want string) {
	p.t.Helper()
	expect.NoError(p.t, p.Settled(expect.Patiently(p.t)))
	for i := range p.nodes {
		if !p.Node(i).Running() {
			continue
		}
		if got := p.Value(i, "SELECT coalesce(group_concat(id ORDER BY id), '') FROM probe.t"); got != want {
			p.t.Errorf("node %d has the rows %s, want %s", i, got, want)
		}
	}
}

// MustRestart starts node i again.
func (p *Probe) MustRestart(i int) {
	p.t.Helper()
	expect.NoError(p.t, p.Restart(expect.Patiently(p.t), i))
}

// RestartAtOnce starts all nodes at the same time.
func (p *Probe) RestartAtOnce() {
	p.t.Helper()
	var all sync.WaitGroup
	for i := range p.nodes {
		all.Go(func() {
			if err := p.Restart(expect.Patiently(p.t), i); err != nil {
				p.t.Error(err)
			}
		})
	}
	all.Wait()
}

// ReplicasGoThroughFaults loses each of a primary and two replicas, starts it again, and writes the
// numbers 1 to 5. Replicas must take no writes, which readOnly shows. silence is the time after
// which a silent connection is given up.
func (p *Probe) ReplicasGoThroughFaults(readOnly string, silence time.Duration) {
	t := p.t
	t.Helper()
	p.Write(1)
	p.MustHold("1")

	// A killed or paused replica gets what it missed.
	expect.NoError(t, p.Node(2).Kill())
	p.Write(2)
	p.MustHold("1,2")
	p.MustRestart(2)
	p.MustHold("1,2")
	expect.NoError(t, p.Node(1).Pause())
	p.Write(3)
	expect.NoError(t, p.Node(1).Resume())
	p.MustHold("1,2,3")

	// A lost primary stays lost until it is started again; then the replicas follow it.
	expect.NoError(t, p.Node(0).Kill())
	p.MustRestart(1)
	for i := 1; i < p.nodes; i++ {
		if got := p.Value(i, "SELECT @@global."+readOnly); got != "1" {
			t.Errorf("node %d takes writes", i)
		}
	}
	for what, ask := range map[string]func(context.Context) error{
		"a primary": func(ctx context.Context) error { _, err := p.Primary(ctx); return err }, "all in step": p.Settled,
	} {
		if ask(expect.Within(t, time.Second)) == nil {
			t.Errorf("%s without node 0", what)
		}
	}
	p.MustRestart(0)
	p.Write(4)
	p.MustHold("1,2,3,4")
	expect.NoError(t, p.Node(0).Pause())
	time.Sleep(silence + time.Second)
	expect.NoError(t, p.Node(0).Resume())
	p.Write(5)
	p.MustHold("1,2,3,4,5")
}
