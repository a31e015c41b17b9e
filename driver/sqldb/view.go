package sqldb

import "context"

// query is one query of a view: row scans what comes and gives it to the
// workload.
type query struct {
	text string
	row  func(Row) error
}

// passed is the error of a workload's callback, which goes back as it came.
type passed struct{ err error }

// give calls a workload's callback and keeps its error.
func (p *passed) give(err error) error {
	if err != nil {
		p.err = err
	}
	return err
}

// view runs queries one after the other in one View. An error of a callback that
// went through p is returned as it is.
func view(ctx context.Context, in func(context.Context, func(Reader) error) error, p *passed, queries ...query) error {
	err := in(ctx, func(r Reader) error {
		for _, q := range queries {
			if err := r.Query(ctx, q.text, q.row); err != nil {
				return err
			}
		}
		return nil
	})
	if p.err != nil {
		return p.err
	}
	return err
}
