package server

import (
	"errors"
	"fmt"
)

// NoPrimaryError means that every node of the product takes writes.
type NoPrimaryError struct{ Product string }

func (e *NoPrimaryError) Error() string {
	return fmt.Sprintf("%s has no primary, every node takes writes; name a node, or write any", e.Product)
}

// FixedError means that a cluster's members cannot change while it runs.
type FixedError struct{ Product, Reason string }

func (e *FixedError) Error() string {
	return fmt.Sprintf("the members of a %s cluster cannot change while it runs: %s", e.Product, e.Reason)
}

// EndedError means that a server ended although assay did not end it.
type EndedError struct {
	// Text says how it ended, with the end of its log.
	Text string
	// Reason is the log's reason in one line.
	Reason string
	// ByMachine means that the machine may have ended it, or kept it from starting, for want of
	// room, memory, files or a port. It says nothing of the server's data.
	ByMachine bool
}

func (e *EndedError) Error() string { return e.Text }

// ErrOwnWrites means that a node, named before it, is a second primary.
var ErrOwnWrites = errors.New("takes writes of its own")

// ErrLastNode refuses to remove the last node that holds data.
var ErrLastNode = errors.New("it is the last node that holds data")
