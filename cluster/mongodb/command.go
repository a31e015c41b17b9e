package mongodb

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/cluster/server"
)

// A paused member never answers. initiateBound also covers the first contact of all members.
const (
	answerBound   = time.Second
	initiateBound = 20 * time.Second
)

// After a step-down a primary does not stand again for stepDownPeriod. Before, it waits up to
// catchUpPeriod for another member to catch up. Both are replSetStepDown's defaults.
const (
	stepDownPeriod = 60 * time.Second
	catchUpPeriod  = 10 * time.Second
)

// helloReply is a member's report about itself (MongoDB manual, "hello").
type helloReply struct {
	Primary    bool          `bson:"isWritablePrimary"`
	Secondary  bool          `bson:"secondary"`
	Arbiter    bool          `bson:"arbiterOnly"`
	ElectionID bson.ObjectID `bson:"electionId"`
	// Leader is the address of the member that it takes for the primary.
	Leader    string `bson:"primary"`
	LastWrite struct {
		OpTime struct {
			TS bson.Timestamp `bson:"ts"`
		} `bson:"opTime"`
	} `bson:"lastWrite"`
}

func (r helloReply) inStep() bool { return r.Primary || r.Secondary || r.Arbiter }

func (r helloReply) holds(goal bson.Timestamp) bool {
	return r.inStep() && (r.Arbiter || !r.LastWrite.OpTime.TS.Before(goal))
}

func (m *ReplicaSet) startAll(ctx context.Context) error {
	for _, node := range m.nodes.All() {
		if err := m.start(ctx, node); err != nil {
			return err
		}
	}
	first := m.nodes.At(0)
	if err := run(ctx, first, initiateBound, m.initiation(), nil); err != nil {
		return fmt.Errorf("initiate: %w", err)
	}
	// A new set waits for the election timeout like any other, so the first member is asked to
	// stand at once, again and again until the others know the set and vote for it.
	if err := await(ctx, first, func(r helloReply) bool {
		if r.Secondary {
			// After a refusal the election timeout brings a primary too.
			_ = run(ctx, first, answerBound, bson.D{{Key: "replSetStepUp", Value: 1}}, nil)
		}
		return r.Primary
	}); err != nil {
		return err
	}
	if err := m.awaitAll(ctx, helloReply.inStep); err != nil {
		return err
	}
	// A member's oplog begins where its copy of the data began. If the first member were lost now, a
	// member behind that could continue from no other and, too stale, would recover for ever.
	var goal bson.Timestamp
	if err := await(ctx, first, func(r helloReply) bool { goal = r.LastWrite.OpTime.TS; return !goal.IsZero() }); err != nil {
		return err
	}
	return m.awaitAll(ctx, func(r helloReply) bool { return r.holds(goal) })
}

func (m *ReplicaSet) awaitAll(ctx context.Context, want func(helloReply) bool) error {
	for _, node := range m.nodes.All() {
		if err := await(ctx, node, want); err != nil {
			return err
		}
	}
	return nil
}

func (m *ReplicaSet) initiation() bson.D {
	members := bson.A{}
	for _, node := range m.nodes.All() {
		members = append(members, bson.D{{Key: "_id", Value: node.Number}, {Key: "host", Value: node.Address()},
			{Key: "arbiterOnly", Value: m.isArbiter(node)}})
	}
	settings := bson.D{}
	if t := m.options.ElectionTimeout; t > 0 {
		settings = append(settings, bson.E{Key: "electionTimeoutMillis", Value: t.Milliseconds()})
	}
	if t := m.options.Heartbeat; t > 0 {
		settings = append(settings, bson.E{Key: "heartbeatIntervalMillis", Value: t.Milliseconds()})
	}
	return bson.D{{Key: "replSetInitiate", Value: bson.D{{Key: "_id", Value: m.options.ReplicaSet},
		{Key: "members", Value: members}, {Key: "settings", Value: settings}}}}
}

// CheckReplace is nil: a member without data makes an initial sync (MongoDB manual, "Resync a
// Member of a Replica Set").
func (m *ReplicaSet) CheckReplace() error { return nil }

// Data is the folder of member i's data.
func (m *ReplicaSet) Data(i int) string { return m.nodes.At(i).Dir }

// CheckSwitchOver is nil: StepDown switches over.
func (m *ReplicaSet) CheckSwitchOver() error { return nil }

// SwitchOver is StepDown.
func (m *ReplicaSet) SwitchOver(ctx context.Context, _ int) error { return m.StepDown(ctx) }

// StepDown makes the primary step down once another member has caught up, and keeps it from
// standing again for a minute. The next primary comes with the next election. A set of one data
// node refuses.
func (m *ReplicaSet) StepDown(ctx context.Context) error {
	i, err := m.Primary(ctx)
	if err != nil {
		return err
	}
	primary := m.nodes.At(i)
	command := bson.D{{Key: "replSetStepDown", Value: int64(stepDownPeriod / time.Second)},
		{Key: "secondaryCatchUpPeriodSecs", Value: int64(catchUpPeriod / time.Second)}}
	if err := run(ctx, primary, catchUpPeriod+answerBound, command, nil); err != nil {
		return fmt.Errorf("%s: step down: %w", primary.Name, err)
	}
	return nil
}

func hello(ctx context.Context, n *server.Node) (reply helloReply, err error) {
	err = run(ctx, n, answerBound, bson.D{{Key: "hello", Value: 1}}, &reply)
	return reply, err
}

// run runs a command on the member's database admin and decodes the answer into reply unless that
// is nil. It uses a connection of its own and no driver, which would watch the member in the
// background.
func run(ctx context.Context, n *server.Node, bound time.Duration, command bson.D, reply any) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", n.Address())
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	request, err := opMsg(command)
	if err != nil {
		return err
	}
	if _, err := conn.Write(request); err != nil {
		return err
	}
	answer, err := readOpMsg(conn)
	if err != nil {
		return err
	}
	var outcome struct {
		OK      float64 `bson:"ok"`
		Code    int32   `bson:"code"`
		Message string  `bson:"errmsg"`
	}
	if err := bson.Unmarshal(answer, &outcome); err != nil {
		return err
	}
	if outcome.OK != 1 {
		return &commandError{outcome.Code, outcome.Message}
	}
	if reply == nil {
		return nil
	}
	return bson.Unmarshal(answer, reply)
}

type commandError struct {
	code    int32
	message string
}

func (e *commandError) Error() string { return fmt.Sprintf("error %d: %s", e.code, e.message) }

// OP_MSG (MongoDB manual, "MongoDB Wire Protocol") is a header of four int32 (length, request,
// response to, operation), the flags, and one section of kind 0, the document.
const (
	opMsgCode   = 2013
	opMsgPrefix = 16 + 4 + 1
)

func opMsg(command bson.D) ([]byte, error) {
	body, err := bson.Marshal(append(command, bson.E{Key: "$db", Value: "admin"}))
	if err != nil {
		return nil, err
	}
	message := make([]byte, opMsgPrefix, opMsgPrefix+len(body))
	binary.LittleEndian.PutUint32(message, uint32(opMsgPrefix+len(body)))
	binary.LittleEndian.PutUint32(message[12:], opMsgCode)
	return append(message, body...), nil
}

func readOpMsg(r io.Reader) (bson.Raw, error) {
	prefix := make([]byte, opMsgPrefix)
	if _, err := io.ReadFull(r, prefix); err != nil {
		return nil, err
	}
	const most = 1 << 20 // far above any answer to our commands
	length := binary.LittleEndian.Uint32(prefix)
	if length < opMsgPrefix || length > most || binary.LittleEndian.Uint32(prefix[12:]) != opMsgCode || prefix[20] != 0 {
		return nil, fmt.Errorf("whoever listens there is not MongoDB: its answer begins with %q", prefix)
	}
	body := make([]byte, length-opMsgPrefix)
	_, err := io.ReadFull(r, body)
	return body, err
}
