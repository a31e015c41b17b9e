package bank

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"assay/history"
)

// The state of the bank after the run is kept in a file of records
// (history.SaveRecords), so that it can be judged again without the database:
// accounts and journal rows as the database gave them, then their counts,
// without which the file is not whole.
const (
	stateMagic      = "ASSAYS02"
	tagAccount byte = 1
	tagEntry   byte = 2
	tagCounts  byte = 3
)

// Save reads the whole state of the store into a new file. read is called now
// and then with the number of rows so far. A file that exists is replaced,
// and only by a whole one.
func Save(ctx context.Context, store Store, path string, read func(rows int64)) error {
	return save(func(account func(Account) error, entry func(Entry) error) error {
		return store.Read(ctx, account, entry)
	}, path, read)
}

// save is Save for any source of accounts and journal rows.
func save(source func(func(Account) error, func(Entry) error) error, path string, read func(rows int64)) error {
	var accounts, entries int64
	return history.SaveRecords(path, stateMagic, func() { read(accounts + entries) }, func(w *history.RecordWriter) error {
		err := source(func(a Account) error {
			accounts++
			return w.Put(tagAccount, a.ID, a.Balance, a.Version)
		}, func(e Entry) error {
			entries++
			return w.Put(tagEntry, e.ID, e.Source, e.Destination, e.Amount, e.SourceVersion, e.DestinationVersion)
		})
		if err != nil {
			return err
		}
		return w.Put(tagCounts, accounts, entries)
	})
}

// Replay reads a saved state: what Store.Read gave, in its order. A file that
// is not whole gives a *history.CutError, a damaged one a
// *history.FormatError, and a callback's error is returned as it is.
func Replay(path string, account func(Account) error, entry func(Entry) error) error {
	var accounts, entries int64
	return history.ReplayRecords(path, stateMagic, func(tag byte, r *history.RecordReader) error {
		var v [6]int64
		switch {
		case tag == tagAccount && r.Ints(v[:3]):
			accounts++
			return account(Account{ID: v[0], Balance: v[1], Version: v[2]})
		case tag == tagEntry && r.Ints(v[:6]):
			entries++
			return entry(Entry{
				Transfer:      Transfer{ID: v[0], Source: v[1], Destination: v[2], Amount: v[3]},
				SourceVersion: v[4], DestinationVersion: v[5],
			})
		case tag == tagCounts && r.Ints(v[:2]):
			if v[0] != accounts || v[1] != entries {
				return r.Malformed("counts that do not match the rows")
			}
			r.Whole()
			return nil
		default:
			return r.Malformed("a row that cannot be read")
		}
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
	text, err := json.MarshalIndent(saved, "", "  ")
	if err != nil {
		return fmt.Errorf("bank: replicas: %w", err)
	}
	path := filepath.Join(folder, fileReplicas)
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return &history.WriteError{Path: path, Err: err}
	}
	return nil
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

// readReplicas returns the members that were kept; none if there were none.
func readReplicas(folder string) ([]savedReplica, error) {
	path := filepath.Join(folder, fileReplicas)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("bank: replicas: %w", err)
	}
	var saved []savedReplica
	if err := json.Unmarshal(text, &saved); err != nil {
		return nil, &history.FormatError{Path: path, Reason: err.Error()}
	}
	return saved, nil
}
