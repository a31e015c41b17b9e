package mem

import (
	"context"
	"fmt"

	"assay/workload/bank"
)

// The database keeps its books twice, as two members of a replica set would:
// what a call has changed in the first is carried over to the second, row by
// row and account by account, before the call is answered.

// The names of the two members.
const (
	firstMember  = "mem:1"
	secondMember = "mem:2"
)

// replicate carries over to the copy what has changed since.
func (d *Database) replicate() {
	for ; d.copied > d.bank.kept; d.copied-- { // rows that were lost again
		d.copy.remove()
	}
	for ; d.copied < d.bank.rows; d.copied++ {
		d.copy.add(*d.bank.row(d.copied))
	}
	for _, id := range d.bank.changed {
		d.copy.accounts[id-1] = d.bank.accounts[id-1]
	}
	d.part()
}

// part has what has changed since stay with the first member.
func (d *Database) part() {
	d.bank.changed = d.bank.changed[:0]
	d.copied, d.bank.kept = d.bank.rows, d.bank.rows
}

// Replicas implements bank.Replicated.
func (s *store) Replicas(context.Context) ([]bank.Replica, map[string]error, error) {
	return []bank.Replica{{Name: firstMember, Primary: true}, {Name: secondMember}}, nil, nil
}

// CatchUp implements bank.Replicated: a call is answered when both members have
// what it did.
func (s *store) CatchUp(ctx context.Context, member bank.Replica) error {
	if _, err := s.member(member); err != nil {
		return err
	}
	return ctx.Err()
}

// ReadReplica implements bank.Replicated. It holds up all other calls while it
// lasts, and the callbacks must make none.
func (s *store) ReadReplica(ctx context.Context, member bank.Replica, account func(bank.Account) error, entry func(bank.Entry) error) error {
	b, err := s.member(member)
	if err != nil {
		return err
	}
	if err := s.d.guard(true); err != nil {
		return err
	}
	defer s.d.mu.Unlock()
	return b.read(ctx, int64(len(b.accounts)), b.rows, account, entry)
}

func (s *store) member(member bank.Replica) (*books, error) {
	switch member.Name {
	case firstMember:
		return &s.d.bank, nil
	case secondMember:
		return &s.d.copy, nil
	default:
		return nil, fmt.Errorf("mem: there is no member %q", member.Name)
	}
}
