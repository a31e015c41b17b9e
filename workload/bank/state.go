package bank

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"assay/history"
	"assay/workload/definition"
)

// stateMagic begins the file of the state after the run: accounts, and then journal rows.
const stateMagic = "ASSAYS02"

// The kinds of rows of the state.
const (
	accountRow = iota // id, balance, version
	entryRow          // id, source, destination, amount, source's version, destination's
)

func stateRows() definition.RowFile {
	return definition.RowFile{Magic: stateMagic, First: 1, Columns: []int{accountRow: 3, entryRow: 6}, End: 3, Apart: true}
}

// Save reads the whole state of the store into a new file; see definition.RowFile.Save.
func Save(ctx context.Context, store Store, path string, read func(rows int64)) error {
	return save(func(account func(Account) error, entry func(Entry) error) error {
		return store.Read(ctx, account, entry)
	}, path, read)
}

// save is Save for any source of accounts and journal rows.
func save(source func(func(Account) error, func(Entry) error) error, path string, read func(rows int64)) error {
	return stateRows().Save(path, read, func(w *definition.RowWriter) error {
		return source(func(a Account) error {
			return w.Put(accountRow, a.ID, a.Balance, a.Version)
		}, func(e Entry) error {
			return w.Put(entryRow, e.ID, e.Source, e.Destination, e.Amount, e.SourceVersion, e.DestinationVersion)
		})
	})
}

// Replay reads a saved state: what Store.Read gave, in its order; see
// definition.RowFile.Replay.
func Replay(path string, account func(Account) error, entry func(Entry) error) error {
	return stateRows().Replay(path, func(kind int, v []int64) error {
		if kind == accountRow {
			return account(Account{ID: v[0], Balance: v[1], Version: v[2]})
		}
		return entry(Entry{
			Transfer:      Transfer{ID: v[0], Source: v[1], Destination: v[2], Amount: v[3]},
			SourceVersion: v[4], DestinationVersion: v[5],
		})
	})
}

// fileReplicas names the members that were read beside the primary, and the
// file of each one's state.
const fileReplicas = "replicas.json"

// catchUpTimeout bounds the wait for one member to have applied what the
// primary has.
const catchUpTimeout = 60 * time.Second

// savedReplica is one member as kept in the run's folder.
type savedReplica struct {
	Name string `json:"name"`
	// File is its state; empty if it could not be read, and Problem says why.
	File    string `json:"file,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// saveReplicas reads every member but the primary, once it has caught up, into
// files of its own. A member that cannot be read is noted; that is no reason
// to lose the rest.
func saveReplicas(ctx context.Context, store Replicated, folder string, read func(rows int64)) error {
	members, unreachable, err := store.Replicas(ctx)
	if err != nil {
		return fmt.Errorf("bank: replicas: %w", err)
	}
	var saved []savedReplica
	for i, member := range members {
		if member.Primary {
			continue
		}
		s := savedReplica{Name: member.Name, File: fmt.Sprintf("state-%d.bin", i)}
		err := saveReplica(ctx, store, member, filepath.Join(folder, s.File), read)
		var disk *history.WriteError
		switch {
		case errors.As(err, &disk), ctx.Err() != nil:
			return err
		case err != nil:
			s.File, s.Problem = "", err.Error()
		}
		saved = append(saved, s)
	}
	for name, err := range unreachable {
		saved = append(saved, savedReplica{Name: name, Problem: err.Error()})
	}
	if len(saved) == 0 {
		return nil
	}
	return definition.SaveJSON(filepath.Join(folder, fileReplicas), saved)
}

func saveReplica(ctx context.Context, store Replicated, member Replica, path string, read func(rows int64)) error {
	waiting, cancel := context.WithTimeout(ctx, catchUpTimeout)
	defer cancel()
	if err := store.CatchUp(waiting, member); err != nil {
		return fmt.Errorf("it did not catch up: %w", err)
	}
	return save(func(account func(Account) error, entry func(Entry) error) error {
		return store.ReadReplica(ctx, member, account, entry)
	}, path, read)
}
