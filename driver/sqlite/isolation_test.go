package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/bank"
	"assay/workload/isolation"
)

func openIsolation(t *testing.T, address string) *lastFile {
	t.Helper()
	f, err := open(store.Target{Address: address}, isolation.Schema())
	expect.NoError(t, err)
	below := &lastFile{file: f}
	expect.AtEnd(t, f.Close)
	return below
}

// TestOneFileOneWorkload: a workload leaves another's tables alone.
func TestOneFileOneWorkload(t *testing.T) {
	refuses := func(t *testing.T, s interface {
		Find(context.Context) (*store.Leftover, error)
		Create(context.Context, store.Marker) error
		Drop(context.Context) error
	}) {
		t.Helper()
		_, finding := s.Find(t.Context())
		for name, err := range map[string]error{"Find": finding, "Create": s.Create(t.Context(), store.Marker{}), "Drop": s.Drop(t.Context())} {
			var refused *store.OptionError
			if !errors.As(err, &refused) || refused.Option != "file" {
				t.Errorf("%s: %v, want a refusal of the file", name, err)
			}
		}
	}
	t.Run("the bank's", func(t *testing.T) {
		address := "sqlite:" + filepath.Join(t.TempDir(), "x.db")
		s := openStore(t, address)
		ledger := load(t, s.Store, 3)
		refuses(t, openIsolation(t, address))
		kind := bank.Schema() // with a table of the same name
		kind.Workload = "ledger"
		other, err := open(store.Target{Address: address}, kind)
		expect.NoError(t, err)
		expect.AtEnd(t, other.Close)
		refuses(t, other)
		ledger.Check(t.Context(), t, s.Store)
	})
	t.Run("isolation's", func(t *testing.T) {
		address := "sqlite:" + filepath.Join(t.TempDir(), "x.db")
		s := openIsolation(t, address)
		expect.NoError(t, s.Create(t.Context(), store.Marker{Run: "mine", Created: time.Now()}))
		refuses(t, openStore(t, address))
		if found, err := s.Find(t.Context()); err != nil || found.Marker.Run != "mine" {
			t.Errorf("%+v, %v", found, err)
		}
	})
}

// TestReadersDoNotQueue: with the write-ahead log a reader goes on during a write, and does not see
// it.
func TestReadersDoNotQueue(t *testing.T) {
	s := openIsolation(t, "sqlite:"+filepath.Join(t.TempDir(), "x.db"))
	expect.NoError(t, s.Create(t.Context(), store.Marker{Created: time.Now()}))
	reader, err := isolation.Open(t.Context(), s)
	expect.NoError(t, err)
	defer reader.Close()
	writer, err := isolation.Open(t.Context(), s)
	expect.NoError(t, err)
	defer writer.Close()
	conn := s.last.handle
	expect.NoError(t, conn.change(t.Context(), "BEGIN IMMEDIATE; INSERT INTO assay_register VALUES (1, 2)"))
	if err := s.write(t.Context()); err != nil { // the writer's place is taken
		t.Fatal(err)
	}
	ops := []isolation.Op{{Kind: isolation.ReadValue, Key: 1}}
	if r := reader.Do(t.Context(), ops); r.Outcome != history.Committed || ops[0].Found {
		t.Errorf("%+v, read %+v", r, ops[0])
	}
	s.done()
	expect.NoError(t, conn.change(t.Context(), "COMMIT"))
	if r := reader.Do(t.Context(), ops); r.Outcome != history.Committed || ops[0].Value != 2 {
		t.Errorf("afterwards: %+v, read %+v", r, ops[0])
	}
}

// TestCallerOfReadLeaves: the operations belong to the caller again after its answer, even if the
// transaction works on.
func TestCallerOfReadLeaves(t *testing.T) {
	address := "sqlite:" + filepath.Join(t.TempDir(), "x.db") + "?journal=delete"
	s := openIsolation(t, address)
	expect.NoError(t, s.Create(t.Context(), store.Marker{Created: time.Now()}))
	n, err := isolation.Open(t.Context(), s)
	expect.NoError(t, err)
	defer n.Close()
	other, err := sql.Open("sqlite", s.dsn("rw"))
	expect.NoError(t, err)
	defer other.Close()
	holder, err := other.Conn(t.Context())
	expect.NoError(t, err)
	defer holder.Close()
	if _, err := holder.ExecContext(t.Context(), "BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	ops := []isolation.Op{{Kind: isolation.ReadValue, Key: 1}}
	r := n.Do(ctx, ops) // the read waits for the holder
	ops[0].Value = 7
	if r.Outcome != history.Failed || r.Class != store.ClassTimeout || !r.Broken {
		t.Errorf("%+v, want failed by timeout", r)
	}
	if _, err := holder.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	expect.NoError(t, s.Settle(t.Context()))
	if ops[0].Value != 7 {
		t.Errorf("the abandoned read wrote %d into the caller's operations", ops[0].Value)
	}
}
