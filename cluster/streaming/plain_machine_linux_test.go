package streaming

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"assay/cluster/machine"
	"assay/internal/expect"
)

// machines have addresses of their own if this system can, which the test checks, and else share
// the loopback.
func machines(t *testing.T, id string, names ...string) (set *machine.Set, own bool) {
	t.Helper()
	o := machine.Options{ID: id, Names: names, Dir: t.TempDir()}
	set, err := machine.Open(o)
	var unsupported *machine.UnsupportedError
	if errors.As(err, &unsupported) {
		t.Log(err)
		set, err = machine.Loopback(o)
	}
	expect.NoError(t, err)
	expect.AtEnd(t, set.Close)
	return set, set.Own() == nil
}

// isolate cuts node i off, or pauses it if it has no network of its own.
func isolate(t *testing.T, s *Plain, set *machine.Set, i int) (heal func()) {
	t.Helper()
	if set.Own() != nil {
		expect.NoError(t, s.Node(i).Pause())
		return func() {
			if err := s.Node(i).Resume(); err != nil {
				t.Error(err)
			}
		}
	}
	cut, err := set.All()[i].Drop(machine.Rule{Direction: machine.Both, Share: 1})
	expect.NoError(t, err)
	return func() { expect.NoError(t, cut.Remove()) }
}

func TestPostgresSetOnMachines(t *testing.T) {
	t.Parallel()
	set, own := machines(t, fmt.Sprintf("%08x", os.Getpid()), "n1", "n2")
	s := startPlain(t, PlainOptions{Placement: Placement{Machines: set.All()}})
	if len(s.Nodes()) != 2 {
		t.Fatalf("%d nodes on two machines", len(s.Nodes()))
	}
	address, err := url.Parse(s.Address())
	expect.NoError(t, err)
	for i, host := range strings.Split(address.Host, ",") {
		at, err := netip.ParseAddrPort(host)
		expect.NoError(t, err)
		if at.Addr() != set.All()[i].Address() || own != (at.Port() == 5432) {
			t.Errorf("node %d is at %s, its machine at %s", i, host, set.All()[i].Address())
		}
	}
	advice := address.Query()
	if advice.Get("target_session_attrs") != "read-write" || advice.Get("connect_timeout") != "2" {
		t.Errorf("clients are told %v", advice)
	}
	address.User = url.UserPassword("assay", "wrong")
	_, err = pgx.Connect(t.Context(), address.String())
	var refusal *pgconn.PgError
	if !errors.As(err, &refusal) || refusal.Code != "28P01" {
		t.Errorf("a wrong password gave %v", err)
	}
	table(t, s)
	w := startWriter(t, s, 0)
	w.more(t)
	for i := range s.Nodes() { // either way commits wait until the standby is heard of again
		heal := isolate(t, s, set, i)
		time.Sleep(4 * time.Second) // longer than a silent connection is kept
		heal()
		w.more(t)
		expect.NoError(t, s.Settled(expect.Patiently(t)))
	}
	w.end()
	checkRows(t, s, w)
}
