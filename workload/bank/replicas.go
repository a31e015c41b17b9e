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
