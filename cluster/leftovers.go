package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"assay/cluster/machine"
	"assay/cluster/server"
)

// OwnedError means that a cluster belongs to a running assay.
type OwnedError struct {
	Record Record
}

func (e *OwnedError) Error() string {
	return fmt.Sprintf("cluster %s (%s) belongs to assay with process id %d, which runs; end that instead",
		e.Record.ID, e.Record.Spec, e.Record.Owner.PID)
}

// Remove takes away what a cluster left: processes whose home is its folder, its namespaces and
// limits, and the folder. While its owner runs it touches nothing and returns an *OwnedError.
func (r Record) Remove(ctx context.Context) error {
	if r.Owner.Alive() {
		return &OwnedError{Record: r}
	}
	return r.remove(ctx)
}

// RemoveOwn takes away all clusters whose owner is this process. It is for a process that
// replaced the owner by execve(2), which keeps the process id and the start time.
func RemoveOwn(ctx context.Context) error {
	records, err := Records()
	failed := []error{err}
	records = slices.DeleteFunc(records, func(r Record) bool { return !r.Own() })
	for _, r := range records {
		failed = append(failed, server.KillHomed(ctx, r.Folder))
	}
	server.ReapChildren() // nobody else asks how they ended, and they are taken for living
	for _, r := range records {
		failed = append(failed, r.remove(ctx))
	}
	return errors.Join(failed...)
}

// Own reports whether the cluster belongs to this process.
func (r Record) Own() bool { return r.Owner == server.Identify(os.Getpid()) }

func (r Record) remove(ctx context.Context) error {
	if err := server.KillHomed(ctx, r.Folder); err != nil {
		return fmt.Errorf("remove cluster %s: %w", r.ID, err)
	}
	err := errors.Join(r.clear(ctx), machine.Remove(r.ID), machine.UnmountBelow(r.Folder))
	if err == nil {
		err = os.RemoveAll(r.Folder)
	}
	if err != nil {
		return fmt.Errorf("remove cluster %s: %w", r.ID, err)
	}
	return nil
}

func (r Record) clear(ctx context.Context) error {
	spec, err := ParseSpec(r.Spec)
	if err != nil {
		return nil // a product that this version does not know
	}
	if clear := products()[spec.Product].clear; clear != nil {
		return clear(ctx, r.Folder)
	}
	return nil
}

// Orphans returns the ids that have namespaces or limits and no record. A starting cluster makes
// its record first, so it is never among them.
func Orphans() ([]string, error) {
	ids, err := machine.Leftovers()
	if err != nil {
		return nil, err
	}
	records, err := Records()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(ids, func(id string) bool {
		return slices.ContainsFunc(records, func(r Record) bool { return r.ID == id })
	}), nil
}

// InUseError means that namespaces or limits without a record are in use.
type InUseError struct{ ID string }

func (e *InUseError) Error() string {
	return fmt.Sprintf("cluster %s is in use, and its record is not in %s: it belongs to an assay with another TMPDIR, and is left alone",
		e.ID, os.TempDir())
}

// RemoveOrphan takes away the namespaces and limits of an id from Orphans. If their owner or a
// process in them lives, it touches nothing and returns an *InUseError.
func RemoveOrphan(id string) error {
	used, err := machine.InUse(id)
	if err != nil {
		return err
	}
	if used {
		return &InUseError{ID: id}
	}
	if err := machine.Remove(id); err != nil {
		return fmt.Errorf("remove what is left of cluster %s: %w", id, err)
	}
	return nil
}
