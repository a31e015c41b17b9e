package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/driver/sqlite"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
)

// TestReleaseCommits: after the RELEASE of a savepoint that began its transaction, an operation has
// not failed, whether its caller leaves or a later statement fails.
func TestReleaseCommits(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), store.Target{Address: "sqlite:" + filepath.Join(t.TempDir(), "savepoint.db")}, store.Schema{Workload: drivertest.ConformanceOpen, Transactions: true, Open: true})
	expect.NoError(t, err)
	defer db.Close()
	expect.NoError(t, db.Create(t.Context(), store.Marker{Run: "r", Workload: drivertest.ConformanceOpen, Created: time.Now()}))
	defer func() { expect.NoError(t, db.Drop(context.Background())) }()
	var sessions []store.Session
	defer func() {
		for _, s := range sessions {
			s.Close()
		}
	}()
	session := func() store.Verbatim {
		s, err := db.Session(t.Context(), nil)
		expect.NoError(t, err)
		sessions = append(sessions, s)
		return s.(store.Verbatim)
	}
	text := func(kind store.TextKind, text string) store.UserText {
		return store.UserText{Text: text, Kind: kind, Protocol: store.Simple}
	}
	send := func(ctx context.Context, sender store.Sender, texts ...store.UserText) error {
		for _, text := range texts {
			if _, err := sender.Send(ctx, text); err != nil {
				return err
			}
		}
		return nil
	}
	first := session()
	expect.NoError(t, first.Verbatim(t.Context(), true, func(ctx context.Context, s store.Sender) error {
		return send(ctx, s, text(store.Defines, "CREATE TABLE t (id INTEGER PRIMARY KEY)"))
	}).Err)
	recording, _ := store.As[store.Recording](db)
	expect.NoError(t, recording.RecordMade(t.Context()))
	ctx, leave := context.WithCancel(t.Context())
	left, ended := make(chan struct{}), make(chan error, 1)
	r := first.Verbatim(ctx, true, func(ctx context.Context, s store.Sender) error {
		err := send(ctx, s, text(store.NoEffect, "SAVEPOINT a"), text(store.Writes, "INSERT INTO t (id) VALUES (1)"), text(store.NoEffect, "RELEASE a"))
		leave()
		<-left
		ended <- err
		return err
	})
	close(left)
	if err := <-ended; err != nil || r.Outcome != history.Unknown {
		t.Errorf("%v, %+v; want it unknown: its INSERT is committed", err, r)
	}
	second := session()
	if r := second.Verbatim(t.Context(), true, func(ctx context.Context, s store.Sender) error {
		return send(ctx, s, text(store.NoEffect, "SAVEPOINT a"), text(store.Writes, "INSERT INTO t (id) VALUES (2)"), text(store.NoEffect, "RELEASE a"), text(store.Writes, "INSERT INTO t (id) VALUES (2)"))
	}); r.Outcome != history.Unknown || r.Class != store.ClassPartly {
		t.Errorf("%+v; want it partly done: only its first INSERT is committed", r)
	}
}
