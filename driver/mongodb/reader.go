package mongodb

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/store"
)

// View implements store.Database: read looks at our collections in one snapshot session (MongoDB
// manual, "Read Concern snapshot"), which the context carries, so that the view
// is one, whatever happens meanwhile. The server keeps snapshots for a limited
// time, by default 300 seconds; reading longer than that ends with an error
// that names the parameter.
//
// A snapshot holds what a majority has. So that nothing is missing that was
// acknowledged with less, the majority is waited for first; without one there is
// an error after confirmBound, and not an old state.
//
// A standalone server has no snapshots. Its workloads have one collection each, and
// nothing of the run changes it after Settle.
//
// No setting of a server limits what a query gives, and every operation names its read and
// write concern, or has that of the cluster as its subject (setDefaultRWConcern; reported
// as the server's default). What notablescan or a default time limit (defaultMaxTimeMS)
// refuse is an error.
func (d *database) View(ctx context.Context, read func(store.Reader) error) error {
	if err := d.MustBeOurs(ctx, "read"); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, confirmBound)
	err := d.confirm(bounded)
	cancel()
	if err != nil {
		return failed(confirming, err)
	}
	if d.standalone {
		return read(&reader{d, outside(ctx), d.database, true})
	}
	session, err := d.client.StartSession(options.Session().SetSnapshot(true))
	if err != nil {
		return failed("open a snapshot", err)
	}
	defer session.EndSession(context.WithoutCancel(ctx))
	return read(&reader{d, outside(mongo.NewSessionContext(ctx, session)), d.database, true})
}

// Audit implements store.Database, in one transaction that only reads.
func (d *database) Audit(ctx context.Context, read func(store.Reader) error) error {
	if d.standalone {
		return d.View(ctx, read)
	}
	return d.reading(ctx, func(x steps) error {
		own := read(&reader{d, x, d.database, false})
		if _, answered := serverCode(own); own == nil || answered || mongo.IsNetworkError(own) || mongo.IsTimeout(own) {
			return own
		}
		return &endError{store.Reply{Err: own}}
	})
}

// ViewReplica implements store.Replicated. What is not there is not given: a member that
// lost everything reads as empty.
func (d *database) ViewReplica(ctx context.Context, member store.Replica, read func(store.Reader) error) error {
	client, err := d.member(member.Name)
	if err != nil {
		return err
	}
	return read(&reader{d, outside(ctx), client.Database(d.database.Name()), true})
}

// reader reads in a transaction, or in the state that a context carries.
type reader struct {
	db *database
	steps
	in *mongo.Database
	// whole refuses documents with fields that nobody wrote, which a user's may have.
	whole bool
}

func (r *reader) Read(_ context.Context, s store.Statement, row func(store.Row) error, parameters ...store.Value) error {
	if !s.ReadsOnly() {
		return errors.New("mongodb: a statement that writes is none of a reader")
	}
	plans, err := r.db.compile([]store.Statement{s}, r.in)
	if err != nil {
		return err
	}
	if r.whole && !r.db.of.Existing && !r.db.of.Open {
		plans[0].giveWhole()
	}
	_, err = plans[0].do(r.steps, &values{layouts: r.db.layouts, parameters: parameters}, false, row)
	if end, is := errors.AsType[*endError](err); is {
		return end.Err
	}
	return err
}

const compactCommand = "compact"

// Compactions implements store.Compacting. A router has none: compact is run on the members
// of each shard by themselves (MongoDB manual, "compact", of sharded clusters). What is
// compacted otherwise can be worked on all the same, and Describe tells.
func (d *database) Compactions() ([]string, error) {
	if d.sharded {
		return nil, nil
	}
	return []string{compactCommand}, nil
}

// Compact implements store.Compacting, on the primary (MongoDB manual, "compact": force
// runs it there).
func (d *database) Compact(ctx context.Context, name string) error {
	if d.sharded || name != compactCommand {
		return &store.OptionError{Option: "compaction", Value: name, Want: compactCommand + ", of a server that is no mongos; behind one it must be run on the members of each shard"}
	}
	for _, c := range d.collections {
		command := bson.D{{Key: compactCommand, Value: c.Name()}, {Key: "force", Value: true}}
		if err := d.database.RunCommand(ctx, command).Err(); err != nil {
			return failed("compact collection "+c.Name(), err)
		}
	}
	return nil
}

// FileSize implements store.Compacting. What the server tells of files has what is free in
// them.
func (d *database) FileSize(ctx context.Context) (store.Size, error) { return d.Size(ctx) }
