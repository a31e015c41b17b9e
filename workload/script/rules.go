package script

import (
	"context"
	"fmt"

	"assay/store"
)

// Rules are a script's invariants, for a database that others work on.
type Rules struct{ program *program }

// ReadRules reads a Starlark file and uses its invariants alone. The error is an *Error or a
// reading error.
func ReadRules(path string) (*Rules, error) {
	text, err := readSource(path)
	if err != nil {
		return nil, &Error{File: path, Reason: err.Error(), Err: err}
	}
	p, err := declare(path, string(text), nil, &statements{anySchema: true, existing: true})
	if err == nil && len(p.invariants) == 0 {
		err = &Error{File: path, Reason: "it declares no invariant", Advice: `write invariant("name", "SELECT ...", equals = 0)`}
	}
	return &Rules{p}, err
}

// Names are the invariants' names.
func (r *Rules) Names() (all []string) {
	for _, i := range r.program.invariants {
		all = append(all, i.name)
	}
	return all
}

// Counts are the answers of counting queries, in one state of a database that others work on.
func Counts(ctx context.Context, open store.Opener, target store.Target, queries []string) (all []int64, err error) {
	err = beside(ctx, open, target, func(q Querier) error {
		all = nil
		for _, text := range queries {
			a, err := ask(ctx, q, Statement{Text: text})
			n, is := a.value()
			count, whole := n.(int64)
			if err == nil && !(is && whole) {
				err = fmt.Errorf("%s does not count", text)
			}
			if err != nil {
				return err
			}
			all = append(all, count)
		}
		return nil
	})
	return all, err
}

// Do sends a statement of assay's own.
func Do(ctx context.Context, open store.Opener, target store.Target, text string) error {
	db, err := opened(ctx, open, target)
	if err != nil {
		return err
	}
	defer db.Close()
	s, err := OpenSession(ctx, db)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Single(ctx, Statement{Text: text}).Err
}

// Describe returns the database and its default settings.
func Describe(ctx context.Context, open store.Opener, target store.Target) (store.Product, error) {
	schema := Schema()
	schema.Existing, schema.Transactions, target.Existing = true, false, true
	db, err := open(ctx, target, schema)
	if err != nil {
		return store.Product{}, err
	}
	defer db.Close()
	return db.Describe(ctx)
}

func opened(ctx context.Context, open store.Opener, target store.Target) (store.Database, error) {
	target.Existing = true
	schema, err := schemaOn(target)
	if err != nil {
		return nil, err
	}
	return open(ctx, target, schema)
}

// beside gives read one state of a database that others work on.
func beside(ctx context.Context, open store.Opener, target store.Target, read func(Querier) error) error {
	db, err := opened(ctx, open, target)
	if err != nil {
		return err
	}
	defer db.Close()
	return look(ctx, db.Audit, read)
}

// Broken checks all rules in one state and returns the broken ones by name. It changes nothing.
func (r *Rules) Broken(ctx context.Context, open store.Opener, target store.Target) (map[string]string, error) {
	broken := map[string]string{}
	err := beside(ctx, open, target, func(q Querier) error {
		clear(broken)
		for _, i := range r.program.invariants {
			a, err := ask(ctx, q, i.query)
			if err != nil {
				return &Error{File: r.program.path, Line: i.line, Column: i.column, Reason: "invariant " + i.name + ": " + err.Error(), Err: err}
			}
			if wrong := i.judge(a); wrong != "" {
				broken[i.name] = wrong
			}
		}
		return nil
	})
	return broken, err
}
