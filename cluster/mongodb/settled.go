package mongodb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/cluster/server"
)

// memberStatus is a line of replSetGetStatus (MongoDB manual).
type memberStatus struct {
	ID     int    `bson:"_id"`
	State  string `bson:"stateStr"`
	Optime struct {
		TS bson.Timestamp `bson:"ts"`
	} `bson:"optime"`
}

// Settled returns when there is a primary and every running member is in step and holds all that
// the primary held at the first answer.
func (m *ReplicaSet) Settled(ctx context.Context) error {
	var goal bson.Timestamp
	return server.Until(ctx, 100*time.Millisecond, "the members of "+m.options.ReplicaSet, func(ctx context.Context) error {
		return m.behind(ctx, &goal)
	})
}

// behind sets goal at the first answer to the primary's position.
func (m *ReplicaSet) behind(ctx context.Context, goal *bson.Timestamp) error {
	i, err := m.Primary(ctx)
	if err != nil {
		return err
	}
	primary := m.nodes.At(i)
	var status struct {
		Members []memberStatus `bson:"members"`
	}
	if err := run(ctx, primary, answerBound, bson.D{{Key: "replSetGetStatus", Value: 1}}, &status); err != nil {
		return fmt.Errorf("%s: %w", primary.Name, err)
	}
	for _, member := range status.Members {
		if member.ID == primary.Number && goal.IsZero() {
			*goal = member.Optime.TS
		}
	}
	if goal.IsZero() {
		return errors.New("the primary does not report what it holds")
	}
	var late []string
	nodes, running := m.nodes.All(), 0
	for _, member := range status.Members {
		if member.ID >= len(nodes) || !nodes[member.ID].Running() {
			continue
		}
		running++
		switch name := nodes[member.ID].Name; {
		case member.State == "ARBITER":
		case member.State != "PRIMARY" && member.State != "SECONDARY":
			late = append(late, name+" is "+member.State)
		case member.Optime.TS.Before(*goal):
			late = append(late, name+" lags behind")
		}
	}
	if running == 0 {
		return errors.New("no member runs")
	}
	if len(late) > 0 {
		return errors.New(strings.Join(late, ", "))
	}
	return nil
}
