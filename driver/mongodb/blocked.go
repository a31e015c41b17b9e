package mongodb

import (
	"context"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Blocked implements store.Administration: writes are locked by fsync, one of our operations waits
// for a lock, or so many members are away that nothing is on a majority (MongoDB manual,
// "currentOp", "fsync", "replSetGetStatus"). What the user may not ask is not told.
func (s *database) Blocked(ctx context.Context) (string, error) {
	var now struct {
		Locked bool `bson:"fsyncLock"`
		Ours   []struct {
			Waiting bool   `bson:"waitingForLock"`
			Kind    string `bson:"op"`
			Name    string `bson:"ns"`
		} `bson:"inprog"`
	}
	err := s.admin.RunCommand(ctx, bson.D{{Key: "currentOp", Value: 1}, {Key: "$ownOps", Value: true}}).Decode(&now)
	if _, answered := serverCode(err); err != nil && !answered {
		return "", failed("ask what is waited for", err)
	}
	if now.Locked {
		return "the server is locked for writing (db.fsyncLock()); unlock it with db.fsyncUnlock()", nil
	}
	for _, o := range now.Ours {
		if o.Waiting {
			return fmt.Sprintf("its %s on %s waits for a lock of another operation or transaction; db.currentOp() shows them, and db.killOp() or killSessions ends one", o.Kind, o.Name), nil
		}
	}
	return s.withoutMajority(ctx)
}

// withoutMajority tells if fewer members with data are up than a write with a majority needs.
func (s *database) withoutMajority(ctx context.Context) (string, error) {
	var status memberStates
	err := s.admin.RunCommand(ctx, bson.D{{Key: "replSetGetStatus", Value: 1}}).Decode(&status)
	if _, answered := serverCode(err); answered {
		return "", nil // a router, or a user without the right
	}
	if err != nil {
		return "", failed("ask what is waited for", err)
	}
	return status.advice(), nil
}

// memberStates is a part of the answer to replSetGetStatus.
type memberStates struct {
	Majority int `bson:"writeMajorityCount"`
	Members  []struct {
		Name  string `bson:"name"`
		State int    `bson:"state"`
	} `bson:"members"`
}

// advice is empty if enough members are up (MongoDB manual, "Replica Set Member States").
func (s *memberStates) advice() string {
	const primary, secondary, arbiter = 1, 2, 7
	up, away := 0, []string(nil)
	for _, m := range s.Members {
		switch m.State {
		case primary, secondary:
			up++
		case arbiter: // it is up, and has no data
		default:
			away = append(away, m.Name)
		}
	}
	if up >= s.Majority {
		return ""
	}
	return fmt.Sprintf("%d members with data are up, and a write needs %d to be on a majority; start again those that are away (%s)", up, s.Majority, strings.Join(away, " "))
}
