package bank

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"assay/check"
	"assay/check/ledger"
	"assay/history"
	"assay/workload"
	"assay/workload/definition"
	"assay/workload/journal"
)

// Judge implements definition.Config. A missing or cut state gives unknown verdicts, malformed
// files a *history.FormatError.
func (c *Config) Judge(_ context.Context, seed uint64, e definition.Evidence) (out definition.Judgement, err error) {
	transfers := NewTransfers(*c, seed)
	var (
		tally      ledger.Tally
		lost, gone *permitted
	)
	finish := func(judge *ledger.Judge) (err error) { out.Results, err = judgement(judge, e); return err }
	err = withJudge(nil, transfers, *c, e, false, func(judge *ledger.Judge) (err error) {
		tally = judge.Tally()
		if lost, gone, err = findLost(judge, e); err != nil || len(lost.transfers) > 0 {
			return err
		}
		return finish(judge)
	})
	if err == nil && len(lost.transfers) > 0 {
		err = withJudge(lost, transfers, *c, e, false, finish)
	}
	if err == nil && len(e.Restored) > 0 {
		err = judgeRestored(gone, transfers, *c, e, &out)
	}
	if err != nil {
		return definition.Judgement{}, err
	}
	out.Counts, out.Notes = tally.Counts, e.UnknownNotes("unknown transfer", "unknown transfers", tally.Unknown, tally.UnknownApplied)
	return out, nil
}

func judgement(judge *ledger.Judge, e definition.Evidence) (results []check.Result, err error) {
	// Neither changes the judge, so they run at the same time.
	var replicas check.Result
	var compared bool
	var comparing errgroup.Group
	comparing.Go(func() (err error) { replicas, compared, err = judgeReplicas(judge, e); return err })
	results = judge.Results()
	err = comparing.Wait()
	if compared {
		results = append(results, replicas)
	}
	return results, err
}

// withJudge gives use a ledger judge of the evidence without lost. earlier is true for a
// restored backup.
func withJudge(lost *permitted, transfers *Transfers, config Config, e definition.Evidence, earlier bool, use func(*ledger.Judge) error) (err error) {
	var reading audited
	about := ledgerConfig(transfers, config, &reading, filepath.Dir(e.State))
	about.Earlier = earlier
	judge, err := ledger.New(about)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, judge.Close()) }()
	_, err = history.Read(e.History, history.Visitor{
		Op:          func(op *history.Op) error { judge.Op(reading.of(lost.withdraw(op))); return nil },
		Reservation: func(r history.Reservation) error { judge.Reserve(r); return nil },
	})
	if err != nil {
		return err
	}
	missing, err := e.Missing(stateOf(e.State)(judge.Account, judge.Row))
	if err != nil {
		return err
	}
	if missing != "" {
		judge.Incomplete(ledger.Journal, missing)
		judge.Incomplete(ledger.Accounts, missing)
	}
	return use(judge)
}

// judgeMemory is in bytes, for some 33 million transfers. The rest goes to a file.
const judgeMemory = 1 << 30

func ledgerConfig(transfers *Transfers, config Config, reading *audited, folder string) ledger.Config {
	b := ledger.Config{
		Accounts: config.Accounts,
		Opening:  transfers.Accounts().Opening,
		Expect: func(id int64) (source, destination, amount int64) {
			t := transfers.At(id)
			return t.Source, t.Destination, t.Amount
		},
		ID:           workload.OperationID,
		Split:        workload.SplitOperationID,
		TransferKind: KindTransfer,
		Folder:       folder,
		Memory:       judgeMemory,
	}
	if config.Audits > 0 {
		b.AuditKind, b.FullAuditKind, b.Audited = KindAudit, KindAuditAll, reading.accounts
	}
	return b
}

// audited splits an audit's record into readings and account ids. The judge asks for the ids
// while it takes the operation.
type audited struct {
	op  history.Op
	ids []int64
}

func (a *audited) of(op *history.Op) *history.Op {
	if op.Kind != KindAudit {
		return op
	}
	values := a.op.Values[:0]
	a.op, a.ids = *op, a.ids[:0]
	for i := 0; i+2 < len(op.Values); i += 3 {
		a.ids = append(a.ids, op.Values[i])
		values = append(values, op.Values[i+1], op.Values[i+2])
	}
	a.op.Values = values
	return &a.op
}

func (a *audited) accounts(int, uint64) []int64 { return a.ids }

// judgeReplicas compares every other member with the primary; ok is false if there is none. It
// draws no conclusion while a member takes writes of its own.
func judgeReplicas(judge *ledger.Judge, e definition.Evidence) (r check.Result, ok bool, err error) {
	folder := filepath.Dir(e.State)
	saved, err := definition.ReadJSON[[]savedReplica](filepath.Join(folder, fileReplicas))
	if err != nil || len(saved) == 0 {
		return r, false, err
	}
	var replicas []ledger.Replica
	ownWrites := false
	for _, s := range saved {
		ownWrites = ownWrites || s.OwnWrites
		if s.File == "" { // it may hold another state than the others
			replicas = append(replicas, ledger.Replica{Name: s.Name, Incomplete: s.Problem})
			continue
		}
		replica := ledger.Replica{Name: s.Name}
		if e.InFlight != "" {
			replica.Incomplete = e.InFlight
		}
		path := filepath.Join(folder, s.File)
		replica.State, replica.Same = stateOf(path), sameBytes(e.State, path)
		replicas = append(replicas, replica)
	}
	primary := ledger.Primary{State: stateOf(e.State)}
	primary.Accounts, primary.Rows = judge.Read()
	r, err = ledger.Replicas(primary, replicas, judge.Outcome)
	why, err := history.WhyMissing(err)
	if why != "" { // what was not read whole cannot be compared
		return check.Result{Name: ledger.CheckReplicas, Verdict: check.Unknown, Detail: why}, true, nil
	}
	if ownWrites { // which of the two was read, and which compared, is chance where clients may reach either
		r = check.Result{Name: r.Name, Detail: r.Detail}
	}
	return r, err == nil, err
}

func stateOf(path string) ledger.State {
	return func(account func(id, balance, version int64), row func(ledger.Row)) error {
		return state().Replay(path, func(r journal.Row) error {
			if v := r.Values; r.Table == accountRow {
				account(v[0], v[1], v[2])
			} else {
				row(ledger.Row{ID: v[0], Source: v[1], Destination: v[2], Amount: v[3], SourceVersion: v[4], DestinationVersion: v[5]})
			}
			return nil
		})
	}
}

type operation struct {
	client int
	seq    uint64
}

// permitted has lost transfers that the manual allows to lose at power cuts. What audits saw in
// the spans may be gone too. For a restored backup it has all that the database itself lost.
type permitted struct {
	transfers map[operation]bool
	spans     []span
	copied    history.Op
}

// span is from the first transfer lost at a cut to the cut, in the history's nanoseconds.
type span struct{ from, cut int64 }

// findLost counts the acknowledged transfers without a journal row in e.Losses. lost has those
// that may be lost, and gone all of them if backups were restored: 16 bytes each.
func findLost(judge *ledger.Judge, e definition.Evidence) (lost, gone *permitted, err error) {
	lost, gone = &permitted{transfers: map[operation]bool{}}, &permitted{transfers: map[operation]bool{}}
	if e.Losses == nil && len(e.Restored) == 0 {
		return lost, gone, nil
	}
	_, err = history.Read(e.History, history.Visitor{Op: func(op *history.Op) error {
		if op.Kind != KindTransfer || !op.Last || op.Final != history.Committed || !judge.Lost(op.Client, op.Seq) {
			return nil
		}
		if e.Losses != nil {
			lost.add(op, e.Losses)
		}
		if len(e.Restored) > 0 {
			gone.transfers[operation{op.Client, op.Seq}] = true
		}
		return nil
	}})
	return lost, gone, err
}

func (p *permitted) add(op *history.Op, losses *definition.Losses) {
	cut, allowed := losses.Add(op.Start, op.End)
	if !allowed {
		return
	}
	p.transfers[operation{op.Client, op.Seq}] = true
	i := slices.IndexFunc(p.spans, func(s span) bool { return s.cut == cut.End() })
	if i < 0 {
		p.spans = append(p.spans, span{op.First, cut.End()})
		return
	}
	p.spans[i].from = min(p.spans[i].from, op.First)
}

// withdraw makes the attempt of a lost transfer unknown, and an audit that may have seen one
// failed. The result is valid until the next call.
func (p *permitted) withdraw(op *history.Op) *history.Op {
	if p == nil {
		return op
	}
	outcome := history.Unknown
	if op.Kind != KindTransfer {
		outcome = history.Failed
		if !slices.ContainsFunc(p.spans, func(s span) bool { return op.First <= s.cut && op.End >= s.from }) {
			return op
		}
	} else if !p.transfers[operation{op.Client, op.Seq}] {
		return op
	}
	p.copied = *op
	p.copied.Outcome, p.copied.Final, p.copied.Values = outcome, outcome, nil
	return &p.copied
}
