package isolation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"assay/check"
	"assay/check/cycle"
	"assay/load"
	"assay/measure"
	"assay/report"
	"assay/store"
	"assay/store/promise"
	"assay/workload/definition"
)

const Name = "isolation"

func Definition() definition.Workload {
	return definition.Workload{
		Name: Name, Key: "transactions",
		Summary: "small transactions over shared lists, registers, groups and pairs; anomalies are named",
		Short:   "Small transactions over shared data; anomalies are found and named",
		Long: `Small transactions over shared data.

Clients append to and read lists (or write and read registers, count groups, keep
a rule over two rows), each transaction at the database's isolation level. assay
infers how the transactions depend on each other, names every anomaly as the
literature does, and shows the transactions that prove it. It judges the run by
what the level promises, or by --model.`,
		Example: `  assay run isolation
  assay run isolation --db postgres://user@localhost/test --isolation serializable
  assay run isolation --cluster postgres:1 --rewrite --model snapshot-isolation
  assay run isolation --cluster postgres:2 --isolation 'repeatable read' --read secondary-preferred`,
		Checks: []definition.Check{
			{Name: "isolation", Asserts: "Transactions over lists and registers show no anomaly that the model forbids; `assay check --models` says what each model rests on.", Tests: promise.Isolation,
				Kinds: map[string]promise.Property{"stale-read": promise.Recency, "lost-append": promise.Durability, KindGoneRead: promise.Permanence, "long-fork": promise.CommitOrder, "G-nonadjacent-item": promise.CommitOrder}},
			{Name: "durability", Asserts: "What was acknowledged is there when everything is read back, as it was written, and nothing else.",
				Kinds: map[string]promise.Property{"lost-append": promise.Durability, "lost-write": promise.Durability}},
			{Name: "predicate", Asserts: "A committed transaction that counts the rows of a group twice counts the same number, except for rows that it inserted. If the model demands it, counts and insertions have an order, of all transactions or of their snapshots.", Tests: promise.Isolation,
				Kinds: map[string]promise.Property{kindSnapshot: promise.CommitOrder}},
			{Name: "pairs", Asserts: "Transactions check that one of two rows is left before they take the other away. Where the model forbids write skew nobody reads both gone.", Tests: promise.Isolation},
		},
		Schema:     schemaOf,
		NotJudged:  []definition.Unjudged{{Table: "member", Column: "id"}, {Table: "member", Column: "grp"}, {Table: "pair", Column: "id"}, {Table: "pair", Column: "value"}},
		Needs:      []store.Need{{Capability: store.Transactions, Why: "an operation would be a transaction by itself"}, {Capability: store.Lists}},
		Config:     func() definition.Config { c := Defaults(); return &c },
		Bugs:       Bugs(),
		Keys:       "keys",
		State:      FileState,
		Losses:     true,
		Operations: map[uint8]string{KindAppend: "append", KindRegister: "register", KindPredicate: "predicate", KindPairs: "pairs"},
		// The workload is made for conflicts, so they do not make a measurement invalid.
		Limit: func(l *measure.Limits) { l.MaxErrorShare = 1 },
	}
}

func (c *Config) Flags() []definition.Flag {
	return []definition.Flag{
		{Name: "test", Value: &c.Test, Usage: "what transactions are made of: append, register, predicate, pairs or all", Values: []string{"append", "register", "predicate", "pairs", "all"}, Setting: "test"},
		{Name: "model", Value: &c.Model, Usage: "the consistency model that is judged; what the database promises if not given"},
		{Name: "keys", Value: &c.Keys, Min: 1, Max: 100_000, Setting: "keys", Usage: "how many lists or registers are in use at the same time"},
		{Name: "length", Value: &c.Length, Min: 1, Max: maxLength, Setting: "length", Usage: "the most operations of one transaction"},
		{Name: "per-key", Value: &c.PerKey, Min: 1, Max: 10_000, Setting: "per key", Usage: "transactions of one client before keys are replaced by new ones"},
		{Name: "read", Value: &c.Read, Usage: "who answers transactions that only read, of every other client, as far as an address names several: primary, secondary-preferred or nearest", Values: store.Readers(), Empty: true},
		{Name: "rewrite", Value: &c.Rewrite, Usage: "append by reading and writing the whole list, as applications often do"},
	}
}

// Plan implements definition.Config. An append done twice is there twice, so an unknown one must
// not be repeated with its element. Attempts have numbers, so they need a bound.
func (c *Config) Plan(p load.Plan) (load.Plan, error) {
	switch {
	case p.Retry == load.RetryIdempotent:
		return p, &load.PlanError{Option: "--retry", Value: string(p.Retry),
			Want: "none or failed, since an append that is done again is there twice"}
	case p.Retry != load.RetryNone && (p.MaxAttempts == 0 || p.MaxAttempts > MaxAttempt):
		return p, &load.PlanError{Option: "--max-attempts", Value: strconv.Itoa(p.MaxAttempts),
			Want: fmt.Sprintf("1 to %d", MaxAttempt)}
	}
	return p, nil
}

// Options implements definition.Config. Earlier versions wrote "atomic" without the parentheses.
func (c *Config) Options(by definition.Support) []report.Setting {
	style := "atomic"
	if c.Rewrite {
		style = "read and rewrite"
	} else if by.RewritesLists {
		style += " (read and written anew in the transaction)"
	}
	settings := append(definition.Settings(c.Flags()), report.Setting{Name: "appends", Value: style})
	if c.Read != "" {
		settings = append(settings, report.Setting{Name: "read", Value: c.Read})
	}
	return settings
}

func (c *Config) does(tests ...string) bool { return c.Test == "all" || slices.Contains(tests, c.Test) }

// NotApplicable are the checks of tests that the run leaves out.
func (c *Config) NotApplicable() (all []check.NotApplicable) {
	for _, x := range []struct {
		check string
		tests []string
	}{
		{"isolation", []string{"append", "register"}}, {"durability", []string{"append", "register"}},
		{"predicate", []string{"predicate"}}, {"pairs", []string{"pairs"}},
	} {
		if !c.does(x.tests...) {
			all = append(all, check.NotApplicable{Name: x.check, Reason: "--test " + c.Test + " has no transactions of it"})
		}
	}
	return all
}

// searchTimeout bounds the search for anomalies; the verdict is unknown after it.
const searchTimeout = 10 * time.Minute

func (c *Config) Judge(ctx context.Context, seed uint64, e definition.Evidence) (definition.Judgement, error) {
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	j, err := Judge(ctx, *c, seed, e)
	if err != nil {
		return definition.Judgement{}, err
	}
	out := definition.Judgement{Results: j.Results, Notes: []string{fmt.Sprintf("judged against %s", j.Model)}, Counts: j.Tally}
	if asked := string(j.Model); c.Model != "" && asked != e.Promise {
		out.Asked = asked
		out.Promised, err = c.judgePromise(ctx, seed, e)
	}
	return out, err
}

// judgePromise judges by the vendor's promise; if that is not known, one check says so.
func (c *Config) judgePromise(ctx context.Context, seed uint64, e definition.Evidence) ([]check.Result, error) {
	promised := *c
	promised.Model = ""
	j, err := Judge(ctx, promised, seed, e)
	if unknown := (*cycle.ModelError)(nil); errors.As(err, &unknown) {
		return []check.Result{{Name: "promise", Detail: "which model the vendor promises is not known"}}, nil
	}
	return j.Results, err
}
