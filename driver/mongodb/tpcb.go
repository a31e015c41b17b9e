package mongodb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"assay/history"
	"assay/workload"
	"assay/workload/tpcb"
)

// tpcbStore is a tpcb.Store, in database assay_tpcb.
//
//	branches {_id: bid, bbalance, filler}
//	tellers  {_id: tid, bid, tbalance, filler}
//	accounts {_id: aid, bid, abalance, filler}
//	history  {_id: id, tid, bid, aid, delta, mtime}
type tpcbStore struct{ *journalStore }

// OpenTPCB connects to the server and returns its Store. Concerns and errors are as with
// OpenBank.
func OpenTPCB(ctx context.Context, target workload.Target) (tpcb.Store, error) {
	s, err := openJournal(ctx, target, tpcb.Name, tpcb.Tables())
	if err != nil {
		return nil, err
	}
	for table := range s.tables {
		if filler := strings.Repeat(" ", tpcb.FillerLength(table)); filler != "" {
			s.beside[table] = func([]int64) bson.E { return bson.E{Key: "filler", Value: filler} }
		}
	}
	s.beside[tpcb.History] = func([]int64) bson.E { return bson.E{Key: "mtime", Value: time.Now()} }
	return &tpcbStore{s}, nil
}

type tpcbSession struct {
	*transactor
	store *tpcbStore
}

func (s *tpcbStore) Session(ctx context.Context) (tpcb.Session, error) {
	x, err := s.transactor(ctx)
	return &tpcbSession{x, s}, err
}

// Do implements tpcb.Session. There is no command for changes of several collections
// before MongoDB 8.0; together, an account is changed and read by one command.
func (n *tpcbSession) Do(ctx context.Context, x tpcb.Transaction, together bool) (reply tpcb.Reply) {
	var balance int64
	rows := n.store.collections[tpcb.History]
	reply.Reply = n.journaled(ctx, rows, x.ID, func(s steps) error {
		err := n.account(s, x, together, &balance)
		if err == nil {
			err = n.add(s, tpcb.Tellers, x.Teller, "tbalance", x.Delta)
		}
		if err == nil {
			err = n.add(s, tpcb.Branches, x.Branch, "bbalance", x.Delta)
		}
		if err == nil {
			_, err = rows.InsertOne(s.next(), n.store.document(tpcb.History, x.Values()))
		}
		return failed("do an operation", err)
	})
	if reply.Outcome == history.Committed {
		reply.Balance = balance
	}
	return reply
}

// account changes an account and reads its balance.
func (n *tpcbSession) account(s steps, x tpcb.Transaction, together bool, balance *int64) error {
	const field = "abalance"
	accounts, names := n.store.collections[tpcb.Accounts], []string{field}
	var err error
	if together {
		err = s.change(accounts, byID(x.Account), increase(bson.E{Key: field, Value: x.Delta}), names, balance)
	} else if err = n.add(s, tpcb.Accounts, x.Account, field, x.Delta); err == nil {
		err = s.integers(accounts, byID(x.Account), names, balance)
	}
	if errors.Is(err, mongo.ErrNoDocuments) {
		err = fmt.Errorf("collection %s has no document %d", accounts.Name(), x.Account)
	}
	return err
}

func (n *tpcbSession) add(s steps, table int, id int64, field string, delta int64) error {
	c := n.store.collections[table]
	result, err := c.UpdateOne(s.next(), byID(id), increase(bson.E{Key: field, Value: delta}))
	if err == nil && result.MatchedCount == 0 {
		err = fmt.Errorf("collection %s has no document %d", c.Name(), id)
	}
	return err
}
