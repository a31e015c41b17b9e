package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"assay/runner/catalog"
	"assay/runner/lease"
	"assay/store"
	"assay/workload/definition"
	"assay/workload/interleaving"
	"assay/workload/isolation"
)

// MatrixScenario is what an isolation matrix is made of.
type MatrixScenario struct {
	// Database is the address, Cluster the servers to start; both empty for an
	// embedded file.
	Database, Cluster string
	Options           []string
	// Levels are the names of the levels to play; none for all.
	Levels         []string
	ConnectTimeout time.Duration
}

// matrix is an isolation matrix that is being made.
type matrix struct {
	run
	timeout time.Duration
	support definition.Support
	cells   interleaving.Matrix
	// dropped is false while a schema of this matrix is there.
	dropped bool
}

// IsolationMatrix plays the scripts of package interleaving at each isolation level,
// in the schema of workload isolation, which is dropped afterwards. When ctx ends,
// it is dropped as well, and the error is an *InterruptedError.
func IsolationMatrix(ctx context.Context, s MatrixScenario, o Options) (cells interleaving.Matrix, err error) {
	if err := validOptions(s.Options); err != nil {
		return nil, err
	}
	o.Progress = &inTurn{progress: o.Progress, status: &Status{}}
	m := &matrix{run: run{scenario: Scenario{Cluster: s.Cluster}, options: o, address: s.Database}, timeout: s.ConnectTimeout, dropped: true}
	stop, err := m.provide(ctx)
	if err != nil {
		return nil, m.interrupted(ctx, err, "the servers were being started")
	}
	defer func() { err = errors.Join(err, stop()) }()
	if m.address == "" {
		folder, err := os.MkdirTemp("", "assay-isolation-matrix-")
		if err != nil {
			return nil, fmt.Errorf("make a folder for an SQLite file: %w", err)
		}
		defer os.RemoveAll(folder)
		m.address = schemeSQLite + filepath.Join(folder, isolation.Name+fileSQLite)
	}
	m.address = withOptions(m.address, s.Options)
	if m.driver, err = catalog.DriverFor(m.address); err != nil {
		return nil, err
	}
	m.support = m.driver.Support(isolation.Name)
	if m.support.Open == nil {
		return nil, m.support.Refused()
	}
	err = m.play(ctx, s.Levels)
	if err != nil && ctx.Err() != nil && m.dropped {
		err = &InterruptedError{During: "playing the scripts", Left: "assay's schema was dropped again", Err: err}
	}
	return m.cells, err
}

// play plays all levels that were asked for.
func (m *matrix) play(ctx context.Context, wanted []string) error {
	m.options.Progress.Stage("connecting")
	db, err := m.database(ctx, store.Level{})
	if err != nil {
		return err
	}
	levels := db.Levels()
	if err := db.Close(); err != nil {
		return err
	}
	levels, err = chosen(levels, wanted)
	if err != nil {
		return err
	}
	for _, level := range levels {
		m.options.Progress.Stage("playing " + level.Name)
		if err := m.level(ctx, level); err != nil {
			return err
		}
	}
	return nil
}

// chosen are the levels with these names, all if there are none.
func chosen(levels []store.Level, wanted []string) (some []store.Level, err error) {
	var names []string
	for _, l := range levels {
		names = append(names, l.Name)
		if slices.Contains(wanted, l.Name) {
			some = append(some, l)
		}
	}
	for _, w := range wanted {
		if !slices.Contains(names, w) {
			return nil, &store.OptionError{Option: "--level", Value: w, Want: strings.Join(names, "; ")}
		}
	}
	if len(wanted) == 0 {
		return levels, nil
	}
	return some, nil
}

// database opens it at a level.
func (m *matrix) database(ctx context.Context, level store.Level) (store.Database, error) {
	db, err := m.support.Open(ctx, store.Target{
		Address: withOptions(m.address, level.Options), ConnectTimeout: m.timeout, Isolation: level.Isolation,
	})
	if err != nil {
		return nil, err
	}
	if seeded(ctx, db) {
		err := &store.OptionError{Option: "database", Value: store.Redact(m.address), Reason: "its sessions cannot be played step by step",
			Want: "sqlite:, postgres:, mysql:, mongodb: or mem:, without seeded bugs"}
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// seeded is whether a database has bugs, and so does one transaction at a time.
func seeded(ctx context.Context, db store.Administration) bool {
	product, err := db.Describe(ctx)
	return err == nil && slices.ContainsFunc(product.Settings, func(s store.Setting) bool { return s.Name == store.SettingBugs })
}

// level plays one level in a schema of its own, which it drops.
func (m *matrix) level(ctx context.Context, level store.Level) (err error) {
	db, err := m.database(ctx, level)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.Marker(ctx); err != nil { // what is not ours gets no lease
		return err
	}
	id := uuid.NewString()
	own, err := lease.Take(ctx, db, id, lease.Terms{Note: m.options.Progress.Note})
	if err != nil {
		return err
	}
	working := own.Keep(ctx)
	defer own.Release(ctx)
	mark := store.Marker{Run: id, Workload: isolation.Name, Version: m.options.Version, Created: time.Now().UTC().Truncate(time.Second)}
	m.dropped = false
	if err := db.Create(working, mark); err != nil {
		return err
	}
	product, err := db.Describe(working)
	if err == nil {
		err = interleaving.Play(working, db, product.Name+" "+product.Version, level.Name, func(c interleaving.Cell) {
			m.cells = append(m.cells, c)
		})
	}
	if lost := own.IsLost(); lost != nil { // what is there now is another's
		return fmt.Errorf("another run has taken the database from this one: %w", lost)
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	settled, dropped := db.Settle(ending), db.Drop(ending)
	m.dropped = dropped == nil
	return errors.Join(err, settled, dropped)
}
