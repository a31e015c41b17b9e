//go:build unix

// Package streamingtest takes clusters of PostgreSQL that a program leads through the losses of
// their nodes, for the tests of each.
package streamingtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/cluster/server"
	"assay/internal/expect"
)

// Cluster is the cluster under test.
type Cluster interface {
	Address() string
	AddressOf(i int) string
	Password() string
	Dir() string
	Nodes() []*server.Node
	Primary(ctx context.Context) (int, error)
	Restart(ctx context.Context, i int, env ...string) error
	Settled(ctx context.Context) error
	BackUp(ctx context.Context, i int, way, into string) (by string, err error)
	Restore(ctx context.Context, backup, into string, until time.Time) (address string, end func() error, err error)
	Close() error
}

// Run backs up a standby, kills a primary and starts it again, stops a standby, and pauses a
// primary. It writes a row each time; in the end all nodes must have all rows. It restores the
// backup as it is, and by the archived log to a moment after the promotion. gives is true if a
// paused primary gives way by itself to its successor. Run closes all.
func Run(t *testing.T, c Cluster, gives bool) {
	t.Helper()
	expect.NoError(t, execute(t, c.Address(), "CREATE TABLE probe (id int PRIMARY KEY)"))
	rows := 0
	insert := func() {
		t.Helper()
		rows++
		expect.NoError(t, execute(t, c.Address(), fmt.Sprintf("INSERT INTO probe VALUES (%d) ON CONFLICT DO NOTHING", rows)))
	}
	settle := func() {
		t.Helper()
		expect.NoError(t, c.Settled(expect.Patiently(t)))
		rows-- // what one node alone had may be lost, if the machine is so busy that it loses its place again
		insert()
		expect.NoError(t, c.Settled(expect.Patiently(t)))
		wantRows(t, c, rows)
	}
	insert()
	checkProcesses(t, c)

	first, err := c.Primary(expect.Patiently(t))
	expect.NoError(t, err)
	expect.NoError(t, c.Settled(expect.Patiently(t))) // else what is about to be lost may be the last row
	kept := Folder(t)
	backUp(t, c, (first+1)%len(c.Nodes()), kept)
	killUnderBackup(t, c, first, kept)
	second := successor(t, c, first, c.Nodes()[first].Kill, func() error { return c.Restart(expect.Patiently(t), first) })
	insert()
	expect.NoError(t, c.Restart(expect.Patiently(t), first))
	settle()
	moment, before := time.Now().Truncate(time.Microsecond), rows
	insert()
	checkRestored(t, c, kept, time.Time{}, 1)
	checkRestored(t, c, kept, moment, before)

	standby := (second + 1) % len(c.Nodes())
	expect.NoError(t, c.Nodes()[standby].Stop(expect.Patiently(t)))
	insert()
	expect.NoError(t, c.Restart(expect.Patiently(t), standby))
	settle()

	expect.NoError(t, c.Nodes()[second].Pause())
	successor(t, c, second, c.Nodes()[second].Pause, c.Nodes()[second].Resume)
	if !gives { // two would take writes, and the old one comes first in the address
		expect.NoError(t, c.Nodes()[second].Kill())
	}
	insert()
	if gives {
		expect.NoError(t, c.Nodes()[second].Resume())
	} else {
		expect.NoError(t, c.Restart(expect.Patiently(t), second))
	}
	settle()
	checkClose(t, c)
}

// LosePrimary is the shortest part of Run: it kills a primary and starts it again, and all nodes
// must have the row written meanwhile. It closes all.
func LosePrimary(t *testing.T, c Cluster) {
	t.Helper()
	expect.NoError(t, execute(t, c.Address(), "CREATE TABLE probe (id int PRIMARY KEY)"))
	checkProcesses(t, c)
	expect.NoError(t, c.Settled(expect.Patiently(t)))
	first, err := c.Primary(expect.Patiently(t))
	expect.NoError(t, err)
	successor(t, c, first, c.Nodes()[first].Kill, func() error { return c.Restart(expect.Patiently(t), first) })
	const row = "INSERT INTO probe VALUES (1) ON CONFLICT DO NOTHING"
	expect.NoError(t, execute(t, c.Address(), row))
	expect.NoError(t, c.Restart(expect.Patiently(t), first))
	expect.NoError(t, c.Settled(expect.Patiently(t)))
	expect.NoError(t, execute(t, c.Address(), row)) // see settle in Run
	expect.NoError(t, c.Settled(expect.Patiently(t)))
	wantRows(t, c, 1)
	checkClose(t, c)
}

// OtherPrimary waits until another node than old takes writes.
func OtherPrimary(t *testing.T, c Cluster, old int) int {
	t.Helper()
	primary, err := otherPrimary(expect.Patiently(t), c, old)
	expect.NoError(t, err)
	return primary
}

func otherPrimary(ctx context.Context, c Cluster, old int) (primary int, err error) {
	err = server.Until(ctx, 100*time.Millisecond, "another primary", func(ctx context.Context) (err error) {
		if primary, err = c.Primary(ctx); err == nil && primary == old {
			err = errors.New("it is the same")
		}
		return err
	})
	return primary, err
}

// successor waits for a primary in place of the lost node. If a busy machine kept a standby from
// reporting, no standby can be promoted without the old primary. So it is brought back and lost
// again.
func successor(t *testing.T, c Cluster, lost int, lose, bringBack func() error) int {
	t.Helper()
	for range 3 {
		if other, err := otherPrimary(expect.Within(t, 2*time.Minute), c, lost); err == nil {
			return other
		}
		expect.NoError(t, bringBack(), c.Settled(expect.Patiently(t)))
		if primary, err := c.Primary(expect.Patiently(t)); err == nil && primary != lost {
			return primary
		}
		expect.NoError(t, lose())
	}
	return OtherPrimary(t, c, lost)
}

func execute(t *testing.T, address, text string) error {
	return server.Until(expect.Patiently(t), 100*time.Millisecond, "a write", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		conn, err := pgx.Connect(ctx, address)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, text)
		return err
	})
}

func wantRows(t *testing.T, c Cluster, want int) {
	t.Helper()
	for i, n := range c.Nodes() {
		conn, err := pgx.Connect(expect.Patiently(t), c.AddressOf(i))
		expect.NoError(t, err)
		var got int
		if err := conn.QueryRow(expect.Patiently(t), "SELECT count(*) FROM probe").Scan(&got); err != nil || got != want {
			t.Errorf("%s has %d rows, %v; want %d", n.Name, got, err, want)
		}
		expect.NoError(t, conn.Close(expect.Patiently(t)))
	}
}

func checkProcesses(t *testing.T, c Cluster) {
	t.Helper()
	for _, n := range c.Nodes() {
		all, err := n.Process().Processes()
		expect.NoError(t, err)
		servers := 0
		for _, p := range all {
			info, err := os.Stat(fmt.Sprintf("/proc/%d", p.PID))
			text, readErr := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
			if err != nil || readErr != nil {
				continue // it has ended
			}
			if stat, is := info.Sys().(*syscall.Stat_t); is && stat.Uid == 0 {
				t.Errorf("%s: process %d is root's: %s", n.Name, p.PID, text)
			}
			if strings.Contains(string(text), c.Password()) {
				t.Errorf("%s: process %d has the password: %s", n.Name, p.PID, text)
			}
			if strings.Contains(string(text), "postgres") {
				servers++
			}
		}
		if servers < 3 { // which the program has let go of
			t.Errorf("%s: %d of its %d processes are PostgreSQL's", n.Name, servers, len(all))
		}
		log, err := os.ReadFile(n.Log)
		expect.NoError(t, err)
		if strings.Contains(string(log), c.Password()) {
			t.Errorf("%s: the password is in its log", n.Name)
		}
	}
}

func checkClose(t *testing.T, c Cluster) {
	t.Helper()
	var all []server.ProcessID
	for _, n := range c.Nodes() {
		processes, err := n.Process().Processes()
		expect.NoError(t, err)
		all = append(all, processes...)
	}
	expect.NoError(t, c.Close())
	for _, p := range all {
		if p.Alive() {
			t.Errorf("process %d is still there", p.PID)
		}
	}
	if server.Exists(c.Dir()) {
		t.Errorf("folder %s is still there", c.Dir())
	}
}
