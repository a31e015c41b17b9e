package application

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/application/wire"
	"assay/internal/expect"
)

// limited is a product that refuses no connection.
type limited struct{ silent }

func (limited) Possible(a wire.Action, _ *wire.Place) bool { return a != wire.TooMany }

// TestEventsThatDoNothing are refused, by what the place or the product can do.
func TestEventsThatDoNothing(t *testing.T) {
	x := &trying{Plan: Plan{Product: limited{}, Event: "too-many-connections@connect:1"}, base: &baseline{places: []*wire.Place{{Name: wire.PlaceConnect, Times: 1}}}}
	_, err := x.attempts(t.Context(), &Report{})
	if wrong, is := errors.AsType[*wire.PlaceError](err); !is || !strings.Contains(wrong.Error(), "does no too-many-connections at connect") {
		t.Errorf("an event that the product does not do: %v", err)
	}
	x.Event = "reset@connect:1"
	if all, err := x.attempts(t.Context(), &Report{}); err != nil || len(all) != 1 {
		t.Errorf("an event that it does: %v, %v", all, err)
	}
	f, err := Scheduled("too-many-connections@connect:5")
	expect.NoError(t, err)
	if _, err := Serve(limited{}, "127.0.0.1:0", "127.0.0.1:0", f, "", nil); !errors.As(err, new(*wire.PlaceError)) {
		t.Errorf("served from the beginning on: %v", err)
	}
	if f, err := Scheduled("too-many-connections@commit:5"); !errors.As(err, new(*wire.PlaceError)) {
		t.Errorf("at commits: %v, %v", f, err)
	}
	s, err := Serve(limited{}, "127.0.0.1:0", "127.0.0.1:0", nil, "", nil)
	expect.NoError(t, err)
	defer func() { expect.NoError(t, errors.Join(s.control.Close(), s.proxy.Close())) }()
	for asked, says := range map[string]string{
		`{"action": "late-1s", "at": "connect"}`:              "late-1s cannot be done at connect; want one of too-many-connections, reset, silent",
		`{"action": "too-many-connections", "at": "commit"}`:  "too-many-connections cannot be done at commit; want one of reset",
		`{"action": "too-many-connections", "at": "connect"}`: "does no too-many-connections",
		`{"action": "smash", "at": "connect"}`:                "which assay does not know",
		`{"action": "reset", "at": "connect"}`:                `{"met":false}`,
		`{"action": "serialization", "at": "commit"}`:         `{"met":false}`,
		`{"action": "reset", "at": "somewhere"}`:              "want begin, commit",
	} {
		w := httptest.NewRecorder()
		s.handler().ServeHTTP(w, httptest.NewRequest(http.MethodPut, "/fault", strings.NewReader(asked)))
		if refused := !strings.Contains(says, "met"); !strings.Contains(w.Body.String(), says) || (w.Code == http.StatusBadRequest) != refused {
			t.Errorf("%s: %d %s", asked, w.Code, w.Body)
		}
	}
}

// TestAskedPlaces: a statement that BEGIN is sent with, as pgjdbc does, is a statement, too.
func TestAskedPlaces(t *testing.T) {
	for _, c := range []struct {
		at     string
		kind   wire.Kind
		shapes string
		is     bool
	}{
		{"statement", wire.Begin, "BEGIN\nINSERT a", true}, {"begin", wire.Begin, "BEGIN\nINSERT a", true}, {"statement", wire.Begin, "BEGIN", false}, {"statement", wire.Begin, "BEGIN\nINSERT b", false},
		{"statement", wire.Other, "INSERT a", true}, {"commit", wire.Begin, "BEGIN\nINSERT a", false}, {"connect", wire.Other, wire.PlaceConnect, false},
	} {
		containing := map[bool]string{true: "a", false: ""}[c.at == "statement"]
		f, err := asked{Action: wire.Reset, At: c.at, Containing: containing}.fault()
		expect.NoError(t, err)
		if c.at == "connect" {
			c.is = true
		}
		if f.Matches(c.kind, c.shapes) != c.is {
			t.Errorf("%q at a %s: %v", c.shapes, c.at, !c.is)
		}
	}
}

// TestServeLeavesNoFile where it cannot begin: the next start would find its folder in use.
func TestServeLeavesNoFile(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	expect.AtEnd(t, busy.Close)
	folder := t.TempDir()
	for _, path := range []string{"", filepath.Join(folder, "transactions.jsonl")} {
		_, err := Serve(limited{}, busy.Addr().String(), "127.0.0.1:0", nil, path, nil)
		if wrong, is := errors.AsType[*AddressError](err); !is || wrong.Address != busy.Addr().String() || errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q: %v", path, err)
		}
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 0 {
		t.Errorf("%v, %v are left", err, left)
	}
}
