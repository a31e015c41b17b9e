package mem

import (
	"context"
	"fmt"
	"unsafe"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

// bankStore is a bank.Store.
type bankStore struct {
	baseStore
	accounts *table[int64, bank.State]
	journal  *table[int64, row]
}

// row is a bank.Entry with accounts and versions in 32 bits: there are at most
// bank.MaxAccounts, and no memory holds 2^32 transfers.
type row struct {
	amount                            int64
	source, destination               uint32
	sourceVersion, destinationVersion uint32
}

// OpenBank returns a Store on a new, empty database: two Stores opened so
// share nothing. The address is mem:// with the optional parameters timeout (a
// probability) and latency (a duration, such as 2ms). It returns
// *workload.OptionError.
func OpenBank(_ context.Context, target workload.Target) (bank.Store, error) {
	return opened(target, func(b baseStore) bank.Store {
		return &bankStore{b, newTable[int64, bank.State](b.d), newTable[int64, row](b.d)}
	})
}

func (s *bankStore) Describe(ctx context.Context) (workload.Product, error) {
	p, err := s.baseStore.Describe(ctx)
	p.Topology = workload.Topology{Nodes: 2, Replicas: 2}
	return p, err
}

func (s *bankStore) LoadAccounts(_ context.Context, batch []bank.Account) error {
	return s.locked(true, func() error {
		x := s.d.begin()
		defer x.end()
		for _, a := range batch {
			if _, found := get(x, s.accounts, a.ID); found || a.ID < 1 || a.ID > bank.MaxAccounts {
				return fmt.Errorf("mem: load accounts: account %d exists, or is not from 1 to %d", a.ID, bank.MaxAccounts)
			}
			put(x, s.accounts, a.ID, bank.State{Balance: a.Balance, Version: a.Version})
		}
		x.commit()
		return nil
	})
}

func (s *bankStore) Read(ctx context.Context, account func(bank.Account) error, entry func(bank.Entry) error) error {
	return s.locked(true, func() error {
		err := inOrder(ctx, s.accounts, func(id int64, a bank.State) error {
			return account(bank.Account{ID: id, Balance: a.Balance, Version: a.Version})
		})
		if err != nil {
			return err
		}
		return s.journal.eachKey(ctx, func(id int64, r row) error {
			return entry(bank.Entry{
				Transfer:      bank.Transfer{ID: id, Source: int64(r.source), Destination: int64(r.destination), Amount: r.amount},
				SourceVersion: int64(r.sourceVersion), DestinationVersion: int64(r.destinationVersion),
			})
		})
	})
}

func (s *bankStore) Audit(_ context.Context, ids []int64, states []bank.State) error {
	if len(ids) > bank.MaxAudited || len(states) < len(ids) {
		return fmt.Errorf("mem: audit of %d accounts into %d states; at most %d", len(ids), len(states), bank.MaxAudited)
	}
	return s.locked(true, func() error {
		for i, id := range ids {
			states[i], _ = s.accounts.current(id)
		}
		return nil
	})
}

func (s *bankStore) AuditAll(ctx context.Context) (t bank.Totals, err error) {
	err = s.locked(true, func() error {
		t.Accounts = s.accounts.count()
		return s.accounts.each(ctx, func(a bank.State) error {
			t.Balance += a.Balance
			t.Versions += a.Version
			return nil
		})
	})
	return t, err
}

func (s *bankStore) Replicas(context.Context) ([]bank.Replica, map[string]error, error) {
	return []bank.Replica{{Name: firstMember, Primary: true}, {Name: secondMember}}, nil, nil
}

func (s *bankStore) CatchUp(ctx context.Context, member bank.Replica) error {
	if member.Name != firstMember && member.Name != secondMember {
		return fmt.Errorf("mem: there is no member %q", member.Name)
	}
	return ctx.Err()
}

func (s *bankStore) ReadReplica(ctx context.Context, member bank.Replica, account func(bank.Account) error, entry func(bank.Entry) error) error {
	if err := s.CatchUp(ctx, member); err != nil {
		return err
	}
	return s.Read(ctx, account, entry)
}

func (s *bankStore) Size(context.Context) (workload.Size, error) {
	return s.size(func() int64 {
		return s.accounts.count()*int64(unsafe.Sizeof(version[bank.State]{})) + s.journal.count()*int64(unsafe.Sizeof(version[row]{}))
	}, "account", "transfer")
}

// bankSession is one client's.
type bankSession struct{ *bankStore }

func (s *bankStore) Session(context.Context) (bank.Session, error) {
	return &bankSession{s}, s.ready()
}

// Transfer implements bank.Session. A context that ends during the latency
// ends the transfer before it has begun.
func (n *bankSession) Transfer(ctx context.Context, t bank.Transfer) (reply bank.Reply) {
	reply.Reply = n.d.run(ctx, "transfer", func(x *transaction) workload.Reply {
		source, from := get(x, n.accounts, t.Source)
		destination, to := get(x, n.accounts, t.Destination)
		if _, there := get(x, n.journal, t.ID); there {
			return duplicate()
		}
		switch {
		case !from || !to:
			return workload.Reply{Outcome: history.Rejected, Class: bank.ClassNoAccount}
		case source.Balance < t.Amount:
			return workload.Reply{Outcome: history.Rejected, Class: bank.ClassNoFunds}
		}
		reply.Source = bank.State{Balance: source.Balance - t.Amount, Version: source.Version + 1}
		reply.Destination = bank.State{Balance: destination.Balance + t.Amount, Version: destination.Version + 1}
		put(x, n.accounts, t.Source, reply.Source)
		put(x, n.accounts, t.Destination, reply.Destination)
		put(x, n.journal, t.ID, row{
			amount: t.Amount, source: uint32(t.Source), destination: uint32(t.Destination),
			sourceVersion: uint32(reply.Source.Version), destinationVersion: uint32(reply.Destination.Version),
		})
		return committed()
	})
	if reply.Outcome != history.Committed {
		reply.Source, reply.Destination = bank.State{}, bank.State{}
	}
	return reply
}

func (n *bankSession) Close() {}
