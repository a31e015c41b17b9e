// Package definition says what a workload is to those who run it: one value with
// its name and help, its flags and configuration, how it is opened on a database,
// how a run is judged and what the report shows. Each workload's package returns
// one; the catalog lists them.
//
// It must not know any workload or driver.
package definition

import (
	"context"

	"assay/workload"
)

// Support says whether a driver serves a workload, and with what.
type Support struct {
	// Workload is the workload's name.
	Workload string
	// Open opens the database for the workload. It is nil if the database cannot
	// honour it.
	Open func(ctx context.Context, target workload.Target) (workload.Store, error)
	// Reason says why Open is nil.
	Reason string
	// RewritesLists is true if an append to a list reads it and writes it anew, in
	// the transaction.
	RewritesLists bool
}

// Refused is the error where Open is nil.
func (s *Support) Refused() error {
	return &workload.OptionError{Option: "workload", Value: s.Workload, Reason: s.Reason, Want: "what assay list has for this database"}
}

// By is the support of a workload by a driver's function, which returns that
// workload's Store.
func By[S workload.Store](name string, open func(ctx context.Context, target workload.Target) (S, error)) Support {
	return Support{Workload: name, Open: func(ctx context.Context, target workload.Target) (workload.Store, error) {
		store, err := open(ctx, target)
		if err != nil {
			return nil, err // and not a typed nil
		}
		return store, nil
	}}
}

// Not is the lack of support of a workload, for this reason.
func Not(name, reason string) Support { return Support{Workload: name, Reason: reason} }

// Rewriting is the support of a driver whose appends to a list read it and write
// it anew, in the transaction.
func (s Support) Rewriting() Support {
	s.RewritesLists = true
	return s
}
