package mongodb

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/history"
	"assay/workload"
	"assay/workload/churn"
)

// churnStore is a churn.Store, in database assay_churn.
//
//	row {_id, payload}
//
// Its sessions share one client, as with bulkUpdateStore.
type churnStore struct{ *sharedClientStore }

// OpenChurn connects to the server and returns its Store. Concerns and errors
// are as with OpenBulkUpdate.
func OpenChurn(ctx context.Context, target workload.Target) (churn.Store, error) {
	s, err := openSharedByMajority(ctx, target, "churn",
		"none: inserts and deletions of several documents are no transactions", "row")
	return &churnStore{s}, err
}

const repairCompact = "compact"

func (s *churnStore) Describe(ctx context.Context) (workload.Product, error) {
	product, err := s.sharedClientStore.Describe(ctx)
	if err == nil && s.sharded {
		product.Settings = append(product.Settings, workload.Setting{Name: repairCompact,
			Value: "not run: a mongos does not have it, and it must be run on each shard's members"})
	}
	return product, err
}

// Repairs implements churn.Store. A router has no compact, which is run on the
// members of each shard by themselves (MongoDB manual, "compact", of sharded
// clusters).
func (s *churnStore) Repairs() []string {
	if s.sharded {
		return nil
	}
	return []string{repairCompact}
}

// Repair implements churn.Store, on the primary (MongoDB manual, "compact":
// force runs it there).
func (s *churnStore) Repair(ctx context.Context, name string) error {
	if name != repairCompact {
		return fmt.Errorf("mongodb: there is no repair %q", name)
	}
	if s.sharded {
		return errors.New("mongodb: a mongos has no compact; run it on the members of each shard")
	}
	command := bson.D{{Key: repairCompact, Value: s.rows.Name()}, {Key: "force", Value: true}}
	return failed("compact", s.database.RunCommand(ctx, command).Err())
}

// Read implements churn.Store, in one snapshot of what a majority has.
func (s *churnStore) Read(ctx context.Context, row func(churn.Row) error) error {
	return readAll(ctx, s.sharedClientStore, churn.Columns(), row)
}

type churnSession struct{ sharedSession }

func (s *churnStore) Session(context.Context) (churn.Session, error) {
	n, err := s.session()
	return &churnSession{n}, err
}

// Insert implements churn.Session. It is not atomic over its documents.
func (n *churnSession) Insert(ctx context.Context, rows []churn.Row) churn.Reply {
	counted, sent := counting(ctx)
	_, err := n.rows.InsertMany(counted, documentsOf(churn.Columns(), rows))
	return n.judged(err, sent.commands)
}

// Delete implements churn.Session. It is not atomic over its documents.
func (n *churnSession) Delete(ctx context.Context, ids []int64) churn.Reply {
	counted, sent := counting(ctx)
	_, err := n.rows.DeleteMany(counted, byID(oneOf(ids)))
	return n.judged(err, sent.commands)
}

// judged is as judgeUpdate judges, since this too is many documents at once.
func (n *churnSession) judged(err error, sent int) churn.Reply {
	if err == nil {
		return churn.Reply{Outcome: history.Committed}
	}
	return judgeUpdate(err, sent, n.sharded)
}
