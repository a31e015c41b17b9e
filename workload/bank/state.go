package bank

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"assay/history"
	"assay/store"
	"assay/workload/definition"
	"assay/workload/journal"
)

// FileState is the saved state's name in a run's folder.
const FileState = "state.bin"

func state() journal.State {
	return journal.State{File: FileState, Tables: tables(), RowFile: definition.RowFile{Magic: "ASSAYS02", First: 1, End: 3, Apart: true}}
}

// Replay gives a saved state in the order of Store.Read; see definition.RowFile.Replay.
func Replay(path string, account func(Account) error, entry func(Entry) error) error {
	return state().Replay(path, split(account, entry))
}

func split(account func(Account) error, entry func(Entry) error) func(journal.Row) error {
	return func(r journal.Row) error {
		v := r.Values
		if r.Table == accountRow {
			return account(Account{ID: v[0], Balance: v[1], Version: v[2]})
		}
		return entry(Entry{
			Transfer:      Transfer{ID: v[0], Source: v[1], Destination: v[2], Amount: v[3]},
			SourceVersion: v[4], DestinationVersion: v[5],
		})
	}
}

// fileReplicas lists the members read beside the primary, with the files of their states.
const fileReplicas = "replicas.json"

// catchUpTimeout bounds the wait until a member has applied what the primary has.
const catchUpTimeout = 60 * time.Second

type savedReplica struct {
	Name string `json:"name"`
	// File is the member's state; empty if it could not be read because of Problem.
	File    string `json:"file,omitempty"`
	Problem string `json:"problem,omitempty"`
	// OwnWrites is true if the member takes writes of its own, so that its rows may differ.
	OwnWrites bool `json:"own_writes,omitempty"`
}

// saveReplicas saves every member but the primary, once it has caught up. It notes a member that
// cannot be read and continues.
func saveReplicas(ctx context.Context, db store.Replicated, folder string, read func(rows int64)) error {
	members, unreachable, err := db.Replicas(ctx)
	if err != nil {
		return fmt.Errorf("bank: replicas: %w", err)
	}
	var saved []savedReplica
	for i, member := range members {
		if member.Primary {
			continue
		}
		s := savedReplica{Name: member.Name, File: fmt.Sprintf("state-%d.bin", i)}
		err := saveReplica(ctx, db, member, filepath.Join(folder, s.File), read)
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
		saved = append(saved, savedReplica{Name: name, Problem: err.Error(), OwnWrites: errors.Is(err, store.ErrOwnWrites)})
	}
	if len(saved) == 0 {
		return nil
	}
	return history.WriteJSON(filepath.Join(folder, fileReplicas), saved)
}

// sameBytes spares a comparison by rows: a member that stores rows as the primary does often
// gives them in the same order.
func sameBytes(path, other string) bool {
	one, err := os.Open(path)
	if err != nil {
		return false
	}
	defer one.Close()
	two, err := os.Open(other)
	if err != nil {
		return false
	}
	defer two.Close()
	var here, there [64 << 10]byte
	for {
		n, err := io.ReadFull(one, here[:])
		m, last := io.ReadFull(two, there[:])
		switch {
		case !bytes.Equal(here[:n], there[:m]) || err != last: // both are ends, or nil, or all is left to the reading
			return false
		case err != nil:
			return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		}
	}
}

func saveReplica(ctx context.Context, db store.Replicated, member store.Replica, path string, read func(rows int64)) error {
	waiting, cancel := context.WithTimeout(ctx, catchUpTimeout)
	defer cancel()
	if err := db.CatchUp(waiting, member); err != nil {
		return fmt.Errorf("it did not catch up: %w", err)
	}
	view := func(ctx context.Context, read func(store.Reader) error) error {
		return db.ViewReplica(ctx, member, read)
	}
	return state().Save(ctx, path, state().From(view), read)
}
