package server

import (
	"errors"
	"fmt"
)

// NoPrimaryError means that a product has no such thing as a primary: every
// node takes writes.
type NoPrimaryError struct{ Product string }

func (e *NoPrimaryError) Error() string {
	return fmt.Sprintf("%s has no primary, every node takes writes; name a node, or write any", e.Product)
}

// FixedError means that a cluster's members cannot change while it runs.
type FixedError struct{ Product, Reason string }

func (e *FixedError) Error() string {
	return fmt.Sprintf("the members of a %s cluster cannot change while it runs: %s", e.Product, e.Reason)
}

// EndedError means that a server ended that nobody here ended.
type EndedError struct {
	// Text says how, with the end of its log.
	Text string
	// Reason is what its log gives for it, in one line.
	Reason string
}

func (e *EndedError) Error() string { return e.Text }

// ErrOwnWrites says of a node, whose name stands before it, that it is a primary beside another.
var ErrOwnWrites = errors.New("takes writes of its own")

// ErrLastNode is the refusal to take out the last node that holds data.
var ErrLastNode = errors.New("it is the last node that holds data")
