package machine

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/netip"
	"os"
	"testing"

	"assay/internal/expect"
)

// newID differs between test programs, several of which may run.
func newID() string {
	id := make([]byte, 4)
	_, _ = rand.Read(id)
	return hex.EncodeToString(id)
}

func closed(t *testing.T, s *Set) {
	t.Helper()
	expect.AtEnd(t, s.Close)
}

func isUnsupported(err error) bool {
	var unsupported *UnsupportedError
	return errors.As(err, &unsupported) && unsupported.What != "" && unsupported.Reason != ""
}

func TestOptionsThatMakeNoNamesAreRefused(t *testing.T) {
	bad := map[string]Options{
		"no id":               {Names: []string{"n1"}},
		"an id with a dash":   {ID: "ab-cd-ef"},
		"an id in upper case": {ID: "ABCDEF01"},
		"a longer id":         {ID: "abcdef012"},
		"a name with a dash":  {ID: "abcdef01", Names: []string{"n-1"}},
		"a name with a slash": {ID: "abcdef01", Names: []string{"../n1"}},
		"an empty name":       {ID: "abcdef01", Names: []string{""}},
		"the bridge's name":   {ID: "abcdef01", Names: []string{"bridge"}},
		"a name twice":        {ID: "abcdef01", Names: []string{"n1", "n1"}},
		"negative memory":     {ID: "abcdef01", Limits: Limits{Memory: -1}},
		"negative writes":     {ID: "abcdef01", Limits: Limits{DiskWrite: -1}},
		"too little CPU":      {ID: "abcdef01", Limits: Limits{CPU: 0.001}},
	}
	for name, o := range bad {
		for how, open := range map[string]func(Options) (*Set, error){"Open": Open, "Loopback": Loopback} {
			s, err := open(o)
			if err == nil {
				closed(t, s)
				t.Errorf("%s: %s allows it", name, how)
			}
			if isUnsupported(err) {
				t.Errorf("%s: %s blames the system: %v", name, how, err)
			}
		}
	}
}

func TestLoopback(t *testing.T) {
	s, err := Loopback(Options{ID: newID(), Names: []string{"n1", "n2"}})
	expect.NoError(t, err)
	closed(t, s)
	if err := s.Own(); !isUnsupported(err) {
		t.Errorf("Own: %v", err)
	}
	if _, err := s.Add("n2"); err == nil {
		t.Error("a second n2")
	}
	if _, err := s.Add("n3"); err != nil {
		t.Error(err)
	}
	home := netip.MustParseAddr("127.0.0.1")
	all := s.All()
	if len(all) != 3 || all[2].Name() != "n3" || all[2].Address() != home || s.Client() != home {
		t.Errorf("machines %v, client %v", all, s.Client())
	}
	if _, err := all[0].Drop(Rule{Direction: Both, Share: 1}); !isUnsupported(err) {
		t.Errorf("Drop: %v", err)
	}
	called := false
	reason := errors.New("reason")
	if err := all[0].Run(func() error { called = true; return reason }); !called || !errors.Is(err, reason) {
		t.Errorf("Run: called %v, %v", called, err)
	}
	expect.NoError(t, all[0].Adopt(os.Getpid()))
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Add("n4"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Add after Close: %v", err)
	}
	if _, err := all[0].SetLimits(Limits{CPU: 1}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("SetLimits after Close: %v", err)
	}
}

func TestRulesThatMeanNothingAreRefused(t *testing.T) {
	s, err := Loopback(Options{ID: newID(), Names: []string{"n1"}})
	expect.NoError(t, err)
	closed(t, s)
	for name, r := range map[string]Rule{
		"no direction":      {Share: 1},
		"no share":          {Direction: In},
		"more than all":     {Direction: In, Share: 1.5},
		"an IPv6 peer":      {Direction: In, Share: 1, Peers: []netip.Addr{netip.IPv6Loopback()}},
		"a peer of no sort": {Direction: In, Share: 1, Peers: []netip.Addr{{}}},
	} {
		if _, err := s.All()[0].Drop(r); err == nil || isUnsupported(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAdoptOfNobody(t *testing.T) {
	s, err := Loopback(Options{ID: newID(), Names: []string{"n1"}})
	expect.NoError(t, err)
	closed(t, s)
	for _, pid := range []int{0, -1} {
		if err := s.All()[0].Adopt(pid); err == nil {
			t.Errorf("process %d adopted", pid)
		}
	}
}

func TestRemoveWantsAnID(t *testing.T) {
	for _, id := range []string{"", "*", "..", "abcdef0", "abcdef01-n1", "../abcdef"} {
		if err := Remove(id); err == nil {
			t.Errorf("Remove(%q) did something", id)
		}
	}
	if err := Remove(newID()); err != nil {
		t.Errorf("an id of which nothing exists: %v", err)
	}
}
