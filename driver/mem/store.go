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
type store struct{ d *Database }

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

func (s *store) guard(required bool) error { return s.d.guard(required) }

// Find implements bank.Store.
func (s *store) Find(context.Context) (*workload.Remains, error) {
	if err := s.guard(false); err != nil {
		return nil, err
	}
	defer s.d.mu.Unlock()
	if s.d.mark == nil {
		return nil, nil
	}
	return &workload.Remains{Mark: *s.d.mark, Rows: s.d.bank.loaded}, nil
}

// Create implements bank.Store.
func (s *store) Create(_ context.Context, mark workload.Mark) error {
	if err := s.guard(false); err != nil {
		return err
	}
	defer s.d.mu.Unlock()
	s.d.reset()
	s.d.mark = &mark
	return nil
}

// LoadAccounts implements bank.Store.
func (s *store) LoadAccounts(_ context.Context, batch []bank.Account) error {
	if err := s.guard(true); err != nil {
		return err
	}
	defer s.d.mu.Unlock()
	if err := s.d.bank.load(batch); err != nil {
		return err
	}
	return s.d.copy.load(batch)
}

// FinishLoad implements bank.Store.
func (s *store) FinishLoad(context.Context) error {
	if err := s.guard(true); err != nil {
		return err
	}
	defer s.d.mu.Unlock()
	s.d.mark.Loaded = true
	return nil
}

// Settle implements bank.Store: what was to be applied later is applied now.
func (s *store) Settle(context.Context) error {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if s.d.mark != nil {
		s.d.pass(s.d.calls + maxLate)
	}
	return nil
}

// Read implements bank.Store. It holds up all other calls while it lasts, and
// the callbacks must make none.
func (s *store) Read(ctx context.Context, account func(bank.Account) error, entry func(bank.Entry) error) error {
	if err := s.guard(true); err != nil {
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
func (s *store) Size(context.Context) (workload.Size, error) {
	if err := s.guard(true); err != nil {
		return workload.Size{}, err
	}
	defer s.d.mu.Unlock()
	b := &s.d.bank
	rows := map[string]int64{"account": b.loaded, "transfer": b.rows}
	s.d.countStrikes(rows)
	return workload.Size{Bytes: b.bytes(), Tables: b.bytes(), Rows: rows}, nil
}

// Drop implements bank.Store.
func (s *store) Drop(context.Context) error {
	if err := s.guard(false); err != nil {
		return err
	}
	defer s.d.mu.Unlock()
	s.d.reset()
	s.d.mark = nil
	return nil
}

// Close implements bank.Store.
func (s *store) Close() error { return nil }

// session is one client's.
type session struct {
	d *Database
	// done is its last committed transfer.
	done done
}

// Session implements bank.Store.
func (s *store) Session(context.Context) (bank.Session, error) {
	if err := s.guard(true); err != nil {
		return nil, err
	}
	defer s.d.mu.Unlock()
	return &session{d: s.d}, nil
}

// Transfer implements bank.Session. A context that ends during the latency
// ends the transfer before it has begun.
func (n *session) Transfer(ctx context.Context, t bank.Transfer) bank.Reply {
	if err := rest(ctx, n.d.latency); err != nil {
		return bank.Reply{Outcome: history.Failed, Class: bank.ClassTimeout, Err: fmt.Errorf("mem: transfer: %w", err)}
	}
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	if n.d.mark == nil {
		return bank.Reply{Outcome: history.Failed, Class: bank.ClassOther, Err: &workload.NoSchemaError{Name: name}, Broken: true}
	}
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
