package mongodb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"assay/driver/replicas"
	"assay/store"
)

// direct are the options of a client of one member alone, whatever part it has
// in the set: read concern local gives what this member has applied.
func (s *settings) direct(host string) *options.ClientOptions {
	d := options.Client().SetAppName(s.appName).SetHosts([]string{host}).SetDirect(true).
		SetReadPreference(readpref.Nearest()).SetReadConcern(readconcern.Local()).
		SetRetryReads(false).SetRetryWrites(false).SetMaxAdaptiveRetries(0)
	o := s.options
	d.Auth, d.TLSConfig, d.Dialer, d.ServerAPIOptions = o.Auth, o.TLSConfig, o.Dialer, o.ServerAPIOptions
	d.Compressors, d.ZlibLevel, d.ZstdLevel = o.Compressors, o.ZlibLevel, o.ZstdLevel
	d.ConnectTimeout = o.ConnectTimeout
	return d
}

// member returns the client of one member, which lives as long as the schema.
func (s *database) member(name string) (*mongo.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if client := s.members[name]; client != nil {
		return client, nil
	}
	client, err := mongo.Connect(s.direct(name)) // contacts nobody yet
	if err != nil {
		return nil, fmt.Errorf("mongodb: member %s cannot be connected to", name)
	}
	if s.members == nil {
		s.members = make(map[string]*mongo.Client)
	}
	s.members[name] = client
	return client, nil
}

// Replicas implements store.Replicated, by what the primary says of the set.
// Arbiters hold no data and are left out; so are hidden members, of which only
// the set's configuration knows. Behind a router there is none to be compared;
// see database.Describe.
func (s *database) Replicas(ctx context.Context) ([]store.Replica, map[string]error, error) {
	if s.sharded {
		return nil, nil, nil
	}
	hello, err := s.hello(ctx)
	if err != nil {
		return nil, nil, failed("look for the members", err)
	}
	names := slices.Concat(hello.Hosts, hello.Passives)
	_, failures := replicas.AskAll(ctx, names, func(ctx context.Context, name string) (helloReply, error) {
		bounded, cancel := context.WithTimeout(ctx, s.connectTimeout)
		defer cancel()
		return s.ask(bounded, name)
	})
	if err := ctx.Err(); err != nil {
		return nil, nil, failed("look for the members", err)
	}
	members := make([]replicas.Member, len(names))
	for i, name := range names {
		members[i] = replicas.Member{Name: name, Identity: name, Err: failures[i]}
	}
	found, unreachable := replicas.Of(hello.Me, members)
	return found, unreachable, nil
}

// ask has a member say where it is; one that has no part in the set now, since
// it starts, recovers or copies its data, gives an error.
func (s *database) ask(ctx context.Context, name string) (reply helloReply, err error) {
	client, err := s.member(name)
	if err != nil {
		return reply, err
	}
	err = client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}},
		options.RunCmd().SetReadPreference(readpref.Nearest())).Decode(&reply)
	if err == nil && !reply.Primary && !reply.Secondary {
		err = errors.New("it is neither primary nor secondary at the moment")
	}
	return reply, plainly(err)
}

// opTime is a place in the oplog (MongoDB manual, "hello", lastWrite.opTime):
// the term of the primary that wrote it, and its time.
type opTime struct {
	Term int64          `bson:"t"`
	Time bson.Timestamp `bson:"ts"`
}

// before is the order in which the set agrees on what was written.
func (o opTime) before(p opTime) bool {
	return cmp.Or(cmp.Compare(o.Term, p.Term), o.Time.Compare(p.Time)) < 0
}

func (o opTime) String() string { return fmt.Sprintf("%d.%d in term %d", o.Time.T, o.Time.I, o.Term) }

// catchUpBound is how long a member may take to answer.
const catchUpBound = 2 * time.Second

// CatchUp implements store.Replicated: the member has applied what the primary
// wrote last before the call. A member that cannot be reached may come back,
// and is asked until ctx ends.
func (s *database) CatchUp(ctx context.Context, member store.Replica) error {
	hello, err := s.hello(ctx)
	if err != nil {
		return failed("ask the primary for its last write", err)
	}
	target := hello.LastWrite.OpTime
	doing := fmt.Sprintf("mongodb: wait for %s to apply what was written up to %v", member.Name, target)
	return replicas.CatchUp(ctx, doing, func(ctx context.Context) (final bool, err error) {
		bounded, cancel := context.WithTimeout(ctx, catchUpBound)
		defer cancel()
		reply, err := s.ask(bounded, member.Name)
		if err == nil && reply.LastWrite.OpTime.before(target) {
			err = fmt.Errorf("it is at %v", reply.LastWrite.OpTime)
		}
		return false, err
	})
}

// everywhereBound is how long the members may take to have the collections.
const everywhereBound = 30 * time.Second

// everywhere returns when every member that can be reached has what was written with a
// majority until now.
func (s *database) everywhere(ctx context.Context) error {
	members, _, err := s.Replicas(ctx)
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, everywhereBound)
	defer cancel()
	for _, member := range members {
		if err := s.CatchUp(bounded, member); err != nil {
			return err
		}
	}
	return nil
}
