package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"assay/history"
	"assay/workload"
	"assay/workload/availability"
)

const availabilitySchema = `
CREATE TABLE assay_row (key INTEGER PRIMARY KEY, value INTEGER NOT NULL) STRICT;`

// availabilityStore is an availability.Store on one file.
type availabilityStore struct{ *file }

// OpenAvailability returns the Store of the file that target.Address names,
// which must not hold another workload's run. Address and errors are as with
// OpenBank; there is no member but one to answer reads.
func OpenAvailability(_ context.Context, target workload.Target) (availability.Store, error) {
	if target.Read != "" && target.Read != workload.ReadPrimary {
		return nil, &workload.OptionError{Option: "--read", Value: target.Read, Want: workload.ReadPrimary}
	}
	o, err := parse(target)
	if err != nil {
		return nil, err
	}
	return &availabilityStore{newFile(o, file{
		tables: []string{"assay_row"}, schema: availabilitySchema, begin: "begin immediate; begin, if it only reads",
	})}, nil
}

// Promise implements availability.Promising, on the grounds on which
// isolationStore.Promise does.
func (s *availabilityStore) Promise() string { return availability.PromiseLinearizable }

// Read implements availability.Store.
func (s *availabilityStore) Read(ctx context.Context, row func(availability.Row) error) error {
	return s.view(ctx, func(tx *sql.Tx) error {
		return each(ctx, tx, "SELECT key, value FROM assay_row", func(rows *sql.Rows) error {
			var r availability.Row
			if err := rows.Scan(&r.Key, &r.Value); err != nil {
				return err
			}
			return stopped(row(r))
		})
	})
}

// availabilitySession is one client's of workload availability.
type availabilitySession struct {
	*connection
	insert, get *sql.Stmt
}

// Session implements availability.Store.
func (s *availabilityStore) Session(ctx context.Context) (availability.Session, error) {
	l, err := s.dial(ctx, "INSERT INTO assay_row (key, value) VALUES (?, ?)", "SELECT value FROM assay_row WHERE key = ?")
	if err != nil {
		return nil, err
	}
	return &availabilitySession{connection: l, insert: l.statements[0], get: l.statements[1]}, nil
}

// Insert implements availability.Session.
func (n *availabilitySession) Insert(ctx context.Context, row availability.Row) availability.Reply {
	return availability.Reply{Reply: n.insertOne(ctx, "insert", n.insert, row.Key, row.Value)}
}

// Get implements availability.Session. The transaction keeps what it found to
// itself until it has ended, since it may go on after the caller has left.
func (n *availabilitySession) Get(ctx context.Context, key int64) availability.Reply {
	var value int64
	var found bool
	e := n.do(ctx, &run{doing: "get", work: func(ctx context.Context) (bool, error) {
		err := n.get.QueryRowContext(ctx, key).Scan(&value)
		if errors.Is(err, sql.ErrNoRows) {
			return true, nil
		}
		found = err == nil
		return true, err
	}})
	reply := availability.Reply{Reply: e.read()}
	if reply.Outcome == history.Committed && found {
		reply.Found, reply.Row = true, availability.Row{Key: key, Value: value}
	}
	return reply
}
