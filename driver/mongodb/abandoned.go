package mongodb

import (
	"context"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"assay/workload"
)

// abortAbandoned tells the server which transactions are over, until it does
// not answer. It changes no outcome: those attempts are Failed, since they
// were never committed, or Unknown, and stay so.
func (s *schema) abortAbandoned(ctx context.Context) {
	s.mu.Lock()
	sessions := s.abandoned
	s.abandoned = nil
	s.mu.Unlock()
	for i, session := range sessions {
		if !sendAbort(ctx, session) {
			s.mu.Lock()
			s.abandoned = append(s.abandoned, sessions[i:]...)
			s.mu.Unlock()
			return
		}
		forget(ctx, session)
		session.EndSession(ctx)
	}
}

// killInterval is the pause between two looks for transactions in the way of a
// drop.
const killInterval = time.Second

// dropCollections drops the collections in this order. A drop waits for every open
// transaction that has used its collection. Those of clients that are gone end only
// after transactionLifetimeLimitSeconds; so they are killed meanwhile, again and
// again, since a server that was frozen may still have to read what such a client
// sent. The drop itself is not given up and repeated: the server could carry out
// the first one when the collection is there anew.
//
// Whoever may drop the collections may end what others are doing to them: they
// carry our mark, and no run that is alive has the lease. Behind routers nothing
// is killed; see Settle.
func (s *schema) dropCollections(ctx context.Context, all []*mongo.Collection) error {
	killing, stop := context.WithCancel(ctx)
	var killer sync.WaitGroup
	defer killer.Wait()
	defer stop()
	if !s.sharded {
		killer.Go(func() { s.keepKilling(killing) })
	}
	for _, c := range all {
		if err := c.Drop(ctx); err != nil {
			return failed("drop collection "+c.Name(), err)
		}
	}
	return nil
}

// keepKilling kills open transactions of this workload's clients until ctx ends.
// Where the server shows none or refuses, its lifetime limit ends them.
func (s *schema) keepKilling(ctx context.Context) {
	for {
		_ = s.killOpen(ctx) // the drop has the error that counts
		if workload.Pause(ctx, killInterval) != nil {
			return
		}
	}
}

// killOpen kills the sessions of this workload's clients, of the same user, that
// have a transaction open (MongoDB manual, "killSessions": without further rights
// one's own).
func (s *schema) killOpen(ctx context.Context) error {
	cursor, err := s.admin.Aggregate(ctx, openTransactions(s.workload))
	if err != nil {
		return err
	}
	var open []struct {
		Session struct {
			ID bson.Binary `bson:"id"`
		} `bson:"lsid"`
	}
	if err := cursor.All(ctx, &open); err != nil || len(open) == 0 {
		return err
	}
	sessions := bson.A{}
	for _, o := range open {
		sessions = append(sessions, bson.D{{Key: "id", Value: o.Session.ID}})
	}
	return s.admin.RunCommand(ctx, bson.D{{Key: "killSessions", Value: sessions}}).Err()
}
