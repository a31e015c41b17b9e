package mem

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

const (
	// level is what all have; plain "serializable" is understood as well.
	level = "strict serializable"
	// name stands for the database in errors: it has no other.
	name = "mem:"
)

// store is a bank.Store on a Database.
type store struct {
	shell
	d *Database
}

// OpenBank returns a Store on a new, empty database: two Stores opened so
// share nothing. The address is mem:// with the optional parameters bug
// (NAME:PROBABILITY, several separated by commas or by repeating the
// parameter), timeout (a probability) and latency (a duration, such as 2ms).
// It returns *workload.OptionError.
func OpenBank(_ context.Context, target workload.Target) (bank.Store, error) {
	o, err := parse(target, Bugs())
	if err != nil {
		return nil, err
	}
	d, err := New(o)
	if err != nil {
		return nil, err
	}
	return d.Bank(), nil
}

// Describe implements bank.Store.
func (s *store) Describe(context.Context) (workload.Product, error) {
	p := s.d.describe()
	p.Topology = workload.Topology{Nodes: 2, Replicas: 2}
	return p, nil
}

func probability(p float64) string { return strconv.FormatFloat(p, 'g', -1, 64) }

// LoadAccounts implements bank.Store.
func (s *store) LoadAccounts(_ context.Context, batch []bank.Account) error {
	return s.locked(true, func() error {
		if err := s.d.bank.load(batch); err != nil {
			return err
		}
		return s.d.copy.load(batch)
	})
}

// FinishLoad implements bank.Store.
func (s *store) FinishLoad(context.Context) error { return s.finishLoad() }

// Read implements bank.Store. It holds up all other calls while it lasts, and
// the callbacks must make none.
func (s *store) Read(ctx context.Context, account func(bank.Account) error, entry func(bank.Entry) error) error {
	if err := s.d.guard(true); err != nil {
		return err
	}
	defer s.d.mu.Unlock()
	b := &s.d.bank
	accounts, rows := int64(len(b.accounts)), b.rows
	for i := range s.d.armed {
		if bug := &s.d.armed[i]; bug.read != nil && s.d.hits(bug.probability) {
			accounts, rows = bug.read(s.d, accounts, rows)
			bug.strikes++
			break
		}
	}
	return b.read(ctx, accounts, rows, account, entry)
}

// read gives the first accounts and rows.
func (b *books) read(ctx context.Context, accounts, rows int64, account func(bank.Account) error, entry func(bank.Entry) error) error {
	for i, a := range b.accounts[:accounts] {
		if err := interrupted(ctx, int64(i)); err != nil {
			return err
		}
		if !a.there {
			continue
		}
		if err := account(bank.Account{ID: int64(i + 1), Balance: a.balance, Version: int64(a.version)}); err != nil {
			return err
		}
	}
	for i := range rows {
		if err := interrupted(ctx, i); err != nil {
			return err
		}
		if err := entry(b.row(i).entry()); err != nil {
			return err
		}
	}
	return nil
}

// interrupted looks at the context now and then.
func interrupted(ctx context.Context, i int64) error {
	if i%chunkRows != 0 || ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("mem: read: %w", ctx.Err())
}

// Size implements bank.Store. It is the memory of one member, there being no
// disk.
func (s *store) Size(context.Context) (size workload.Size, err error) {
	err = s.locked(true, func() error {
		b := &s.d.bank
		size = workload.Size{Bytes: b.bytes(), Tables: b.bytes(), Rows: map[string]int64{"account": b.loaded, "transfer": b.rows}}
		s.d.countStrikes(size.Rows)
		return nil
	})
	return size, err
}

// session is one client's.
type session struct {
	d *Database
	// done is its last committed transfer.
	done done
}

// Session implements bank.Store.
func (s *store) Session(context.Context) (bank.Session, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	return &session{d: s.d}, nil
}

// Transfer implements bank.Session. A context that ends during the latency
// ends the transfer before it has begun.
func (n *session) Transfer(ctx context.Context, t bank.Transfer) bank.Reply {
	if no := n.d.enter(ctx, "transfer"); no != nil {
		return bank.Reply{Reply: *no}
	}
	defer n.d.mu.Unlock()
	n.d.past.acknowledged(n.done)
	reply := n.d.transfer(t)
	if n.done = (done{}); n.d.looksBack && reply.Outcome == history.Committed {
		n.done = done{source: t.Source, destination: t.Destination, moment: n.d.past.number}
	}
	return reply
}

// Close implements bank.Session.
func (n *session) Close() {}

func rest(ctx context.Context, d time.Duration) error {
	if d <= 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
