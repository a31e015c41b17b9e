package script

import (
	"context"

	"assay/store"
)

// Rules are the invariants of a script, for a database on which others work.
type Rules struct{ program *program }

// ReadRules reads a file in Starlark. Its other declarations mean nothing here. An error is an
// *Error, or says why the file cannot be read.
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

// Names are what the invariants are called.
func (r *Rules) Names() (all []string) {
	for _, i := range r.program.invariants {
		all = append(all, i.name)
	}
	return all
}

// Broken looks at all of them in one state of the database, and says by their names what does
// not hold. Nothing is changed.
func (r *Rules) Broken(ctx context.Context, open store.Opener, target store.Target) (map[string]string, error) {
	target.Existing = true
	schema, err := schemaOn(target)
	if err != nil {
		return nil, err
	}
	db, err := open(ctx, target, schema)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	broken := map[string]string{}
	err = look(ctx, db.Audit, func(q Querier) error {
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
