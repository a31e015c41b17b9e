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

// tpcbSession is a tpcb.Session.
type tpcbSession struct {
	*transactor
	store *tpcbStore
}

func (s *tpcbStore) Session(ctx context.Context) (tpcb.Session, error) {
	x, err := s.transactor(ctx)
	if err != nil {
		return nil, err
	}
	return &tpcbSession{x, s}, nil
}

// Do implements tpcb.Session. There is no command for changes of several collections
// before MongoDB 8.0; together, an account is changed and read by one command.
func (n *tpcbSession) Do(ctx context.Context, x tpcb.Transaction, together bool) (reply tpcb.Reply) {
	var balance int64
	rows := n.store.collections[tpcb.History]
	reply.Reply = n.journaled(ctx, rows, x.ID, "", func(s steps) error {
		if err := n.account(s, x, together, &balance); err != nil {
			return err
		}
		for _, of := range []struct {
			table int
			id    int64
			field string
		}{{tpcb.Tellers, x.Teller, "tbalance"}, {tpcb.Branches, x.Branch, "bbalance"}} {
			if err := n.add(s, of.table, of.id, of.field, x.Delta); err != nil {
				return err
			}
		}
		_, err := rows.InsertOne(s.next(), n.store.document(tpcb.History, x.Values()))
		return err
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
		err = s.change(accounts, byID(x.Account), increment(field, x.Delta), names, balance)
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
	result, err := c.UpdateOne(s.next(), byID(id), increment(field, delta))
	if err == nil && result.MatchedCount == 0 {
		err = fmt.Errorf("collection %s has no document %d", c.Name(), id)
	}
	return err
}

func increment(field string, by int64) bson.D {
	return bson.D{{Key: "$inc", Value: bson.D{{Key: field, Value: by}}}}
}
