package bugs

import (
	"context"
	"slices"

	"assay/workload/bank"
)

// The members of a database that has but one, as a split brain shows them.
const (
	firstMember  = "member 1"
	secondMember = "member 2"
)

// Replicas implements bank.Replicated. A database that has no second member is
// shown with one if a bug is to part it from the first.
func (s *bankStore) Replicas(ctx context.Context) (members []bank.Replica, unreachable map[string]error, err error) {
	if r, ok := s.inner.(bank.Replicated); ok {
		members, unreachable, err = r.Replicas(ctx)
	}
	if err == nil && len(members) < 2 && len(unreachable) == 0 && s.splits() {
		members = []bank.Replica{{Name: firstMember, Primary: true}, {Name: secondMember}}
	}
	return members, unreachable, err
}

func (s *bankStore) splits() bool {
	return slices.ContainsFunc(s.active, func(b *active[bankActions]) bool { return b.Check == checkReplicas })
}

func (s *bankStore) CatchUp(ctx context.Context, member bank.Replica) error {
	if r, ok := s.inner.(bank.Replicated); ok && member.Name != firstMember && member.Name != secondMember {
		return r.CatchUp(ctx, member)
	}
	return ctx.Err()
}

func (s *bankStore) ReadReplica(ctx context.Context, member bank.Replica, account func(bank.Account) error, entry func(bank.Entry) error) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.done()
	from := s.inner.Read
	if r, ok := s.inner.(bank.Replicated); ok && member.Name != firstMember && member.Name != secondMember {
		from = func(ctx context.Context, account func(bank.Account) error, entry func(bank.Entry) error) error {
			return r.ReadReplica(ctx, member, account, entry)
		}
	}
	shown := s.other
	if member.Primary {
		shown = s.primary
	}
	return shown.read(from, ctx, account, entry)
}
