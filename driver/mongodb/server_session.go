package mongodb

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// serverSession is a session with the server, which has transactions one after the other (driver sessions
// specification, "Server Session"). It is one of ours, since the library's hide the number of the transaction,
// without which no other command can belong to it.
type serverSession struct {
	id uuid.UUID
	// number is that of the latest transaction. A later one ends any before it.
	number int64
	begun  time.Time // the latest transaction
}

const (
	// sessionLife is after which time a session is not used again: half of what the server keeps one without use
	// (MongoDB manual, "localLogicalSessionTimeoutMinutes").
	sessionLife = 15 * time.Minute
	// maxEnded is how many sessions a command endSessions may name (driver sessions specification, "endSessions").
	maxEnded = 10_000
)

// lsid is a session as commands name it.
func lsid(id uuid.UUID) bson.D {
	return bson.D{{Key: "id", Value: bson.Binary{Subtype: bson.TypeBinaryUUID, Data: id[:]}}}
}

// takeSession is a session without an open transaction, for one that begins now.
func (s *database) takeSession(now time.Time) *serverSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.idle) - 1; last >= 0 {
		one := s.idle[last]
		s.idle = s.idle[:last]
		if now.Sub(one.begun) < sessionLife {
			return one
		}
		s.idle = nil // they have waited for longer
	}
	return &serverSession{id: uuid.New()}
}

// giveSession takes a session back that has no open transaction.
func (s *database) giveSession(one *serverSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, one)
}

// endSessions tells the server which sessions are over. Of those that it cannot be told it ends each after half an
// hour.
func (s *database) endSessions() {
	s.mu.Lock()
	idle := s.idle
	s.idle = nil
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), abortBound)
	defer cancel()
	for some := range slices.Chunk(idle, maxEnded) {
		var ids bson.A
		for _, one := range some {
			ids = append(ids, lsid(one.id))
		}
		_ = s.admin.RunCommand(ctx, bson.D{{Key: "endSessions", Value: ids}}).Err()
	}
}
