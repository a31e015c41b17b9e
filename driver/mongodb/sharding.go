package mongodb

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/store"
)

// parameterShard is the address's parameter of ours that has the collections
// sharded, and hashedSharding its only value.
const (
	parameterShard = "shard"
	hashedSharding = "hashed"
)

// shardingOf reads the values that the address has for parameterShard.
func shardingOf(values []string) (hashed bool, err error) {
	if len(values) == 0 {
		return false, nil
	}
	if len(values) > 1 || values[0] != hashedSharding {
		return false, &store.OptionError{Option: parameterShard, Value: strings.Join(values, ","),
			Want: "hashed, through a mongos; without it collections are not sharded"}
	}
	return true, nil
}

// without leaves parameters out of an address. drop is given a parameter's name
// and its value, both without their percent-encoding.
func without(address string, drop func(name, value string) bool) string {
	before, query, found := strings.Cut(address, "?")
	if !found {
		return address
	}
	var kept []string
	for _, part := range strings.FieldsFunc(query, func(r rune) bool { return r == '&' }) {
		name, value, _ := strings.Cut(part, "=")
		plain, err := url.QueryUnescape(value)
		if err != nil || !drop(name, plain) {
			kept = append(kept, part)
		}
	}
	return before + "?" + strings.Join(kept, "&")
}

// withoutOurs leaves out of an address what is for us and not for the library.
func withoutOurs(address string) string {
	return without(address, func(name, _ string) bool {
		return strings.EqualFold(name, parameterShard) || strings.EqualFold(name, parameterMajorityWait) || strings.EqualFold(name, parameterCausal)
	})
}

// wireSharesDatabases is MongoDB 6.0, from which on shardCollection does not
// need enableSharding first (MongoDB manual, "shardCollection").
const wireSharesDatabases = 17

// enableSharding is the command that lets a database's collections be sharded.
func enableSharding(database string) bson.D {
	return bson.D{{Key: "enableSharding", Value: database}}
}

// shardCollection is the command that spreads an empty collection over the
// shards by a hash of _id (MongoDB manual, "shardCollection": of an empty
// collection it makes the index and spreads the chunks at once).
//
// The key is _id for every collection. Only so is _id unique in the cluster: its
// index "only enforces the uniqueness constraint per shard if the _id field is
// not the shard key" (MongoDB manual, "Shard Key Indexes", "Unique Indexes"), and
// that no id is written twice is what the workloads rely on. A hashed key cannot
// be declared unique; the index of _id, which every shard has, and the hash,
// which sends equal ids to one shard, do it together. A schema with another unique index is
// not sharded for that reason; see database.shardable.
func shardCollection(database, collection string) bson.D {
	return bson.D{{Key: "shardCollection", Value: database + "." + collection},
		{Key: "key", Value: bson.D{{Key: "_id", Value: "hashed"}}}}
}

// refuseSharding is the error where the server is no mongos.
func (c *connection) refuseSharding(hello helloReply) error {
	found := "a standalone server"
	if hello.SetName != "" {
		found = "a member of replica set " + hello.SetName
	}
	return &store.OptionError{Option: parameterShard, Value: hashedSharding,
		Want: fmt.Sprintf("none, since %s is %s and no mongos; give the address of a mongos of a sharded cluster, or leave shard=hashed out",
			c.printable, found)}
}

// createCollection makes a collection, and shards it if that is asked for.
func (s *database) createCollection(ctx context.Context, name string, o ...options.Lister[options.CreateCollectionOptions]) error {
	if err := s.database.CreateCollection(ctx, name, o...); err != nil {
		return failed("create collection "+name, err)
	}
	if !s.hashed {
		return nil
	}
	if err := s.admin.RunCommand(ctx, shardCollection(s.database.Name(), name)).Err(); err != nil {
		return failed("shard collection "+name, err)
	}
	return nil
}

// allowSharding prepares the database, where the version needs that.
func (s *database) allowSharding(ctx context.Context) error {
	if !s.hashed || s.wire >= wireSharesDatabases {
		return nil
	}
	if err := s.admin.RunCommand(ctx, enableSharding(s.database.Name())).Err(); err != nil {
		return failed("enable sharding of database "+s.database.Name(), err)
	}
	return nil
}

// shard is one of listShards.
type shard struct {
	name, set string
	// members are those that hold data and are not hidden.
	members []string
}

// shardsOf reads the answer to listShards (MongoDB manual, "listShards"):
// shards, each with its _id and its host, which is the name of its replica set,
// a slash, and the members separated by commas.
func shardsOf(reply bson.Raw) ([]shard, error) {
	var found struct {
		Shards []struct {
			ID   string `bson:"_id"`
			Host string `bson:"host"`
		} `bson:"shards"`
	}
	if err := bson.Unmarshal(reply, &found); err != nil {
		return nil, err
	}
	if len(found.Shards) == 0 {
		return nil, errors.New("listShards names no shard")
	}
	var all []shard
	for _, f := range found.Shards {
		set, hosts, ok := strings.Cut(f.Host, "/")
		if !ok {
			set, hosts = "", f.Host
		}
		all = append(all, shard{name: f.ID, set: set, members: strings.Split(hosts, ",")})
	}
	return all, nil
}

// shards tells what the cluster consists of, as far as the user may know.
func (d *description) shards(ctx context.Context) {
	d.set("deployment", "sharded cluster, through its routers")
	sharding := "none"
	if d.hashed {
		sharding = hashedSharding
	}
	d.set("sharding", sharding)
	reply, err := d.admin.RunCommand(ctx, bson.D{{Key: "listShards", Value: 1}}).Raw()
	if err != nil {
		return
	}
	if all, err := shardsOf(reply); err == nil {
		d.count(all)
	}
}

// count tells of the shards. Of members only the number is told, since settings
// hold no addresses. Routers, configuration servers, arbiters and hidden members
// are not known to listShards, and so not counted.
func (d *description) count(all []shard) {
	d.set("shards", fmt.Sprint(len(all)))
	t := &d.product.Topology
	t.Shards, t.Replicas = len(all), len(all[0].members)
	for _, s := range all {
		text := fmt.Sprintf("%d members", len(s.members))
		if len(s.members) == 1 {
			text = "1 member"
		}
		if s.set != "" && s.set != s.name {
			text = "replica set " + s.set + ", " + text
		}
		d.set("shard "+s.name, text)
		t.Nodes += len(s.members)
		if len(s.members) != t.Replicas {
			t.Replicas = 0 // not one number
		}
	}
}
