package mongodb

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/driver/encryption"
	"assay/workload"
)

// Describe asks the installation what it is. What the user may not ask for is left out.
func (s *schema) Describe(ctx context.Context) (workload.Product, error) {
	d := &description{connection: s.connection, product: workload.Product{Name: "MongoDB"}}
	if err := d.basics(ctx); err != nil {
		return workload.Product{}, failed("describe", err)
	}
	d.engine(ctx)
	d.concerns()
	d.members(ctx)
	if !s.sharded { // a router does not know of the shards' parameters
		d.set("transaction lifetime limit", s.lifetime(ctx).String())
	}
	d.machine(ctx)
	return d.product, nil
}

// description collects what is known of the installation.
type description struct {
	*connection
	hello   helloReply
	product workload.Product
}

func (d *description) set(name, value string) {
	d.product.Settings = append(d.product.Settings, workload.Setting{Name: name, Value: value})
}

// ask runs a command on database admin that not every user may run, and
// reports whether there is an answer.
func (d *description) ask(ctx context.Context, reply any, command ...bson.E) bool {
	return d.admin.RunCommand(ctx, bson.D(command)).Decode(reply) == nil
}

// basics are what every user may know.
func (d *description) basics(ctx context.Context) (err error) {
	var build struct {
		Version string   `bson:"version"`
		Modules []string `bson:"modules"`
	}
	if err := d.admin.RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&build); err != nil {
		return err
	}
	if d.hello, err = d.connection.hello(ctx); err != nil {
		return err
	}
	d.product.Version = build.Version
	if len(build.Modules) > 0 {
		d.set("modules", strings.Join(build.Modules, ", "))
	}
	return nil
}

func (d *description) engine(ctx context.Context) {
	var status struct {
		Engine struct {
			Name string `bson:"name"`
		} `bson:"storageEngine"`
		WiredTiger struct {
			Cache struct {
				Size float64 `bson:"maximum bytes configured"`
			} `bson:"cache"`
		} `bson:"wiredTiger"`
	}
	if !d.ask(ctx, &status, bson.E{Key: "serverStatus", Value: 1}) || status.Engine.Name == "" {
		return // a router has none
	}
	d.set("storage engine", status.Engine.Name)
	if size := status.WiredTiger.Cache.Size; size > 0 {
		d.set("cache", fmt.Sprintf("%.0f MiB a node", size/(1<<20)))
	}
}

// concerns are the guarantees that the transfers ask for, and what is known of
// the connections, which the library makes alike.
func (d *description) concerns() {
	isolation := snapshotLevel
	if d.sharded && d.readConcern.Level != snapshotLevel {
		isolation += " on each shard, not one over all" // MongoDB manual, "Production Considerations (Sharded Clusters)", "Read Concerns"
	}
	d.set("isolation", isolation)
	d.set("read concern", d.readConcern.Level)
	d.set("write concern", fmt.Sprint(d.writeConcern.W))
	if j := d.writeConcern.Journal; j != nil {
		d.set("journal asked for", strconv.FormatBool(*j))
	}
	retries := "none: neither reads nor writes nor commitTransaction are resent"
	if d.askedForRetries {
		retries += ", although the address asks for retries"
	}
	d.set("library's retries", retries)
	d.set(encryption.Setting, encryption.State(d.options.TLSConfig))
	d.set("connections at most", strconv.FormatUint(*d.options.MaxPoolSize, 10))
}

// members tells the size of the set, hidden members included where the user may
// see its configuration.
func (d *description) members(ctx context.Context) {
	if d.sharded {
		d.shards(ctx)
		return
	}
	d.set("deployment", "replica set "+d.hello.SetName)
	data, arbiters := len(d.hello.Hosts)+len(d.hello.Passives), len(d.hello.Arbiters)
	var reply struct {
		Config struct {
			Members []struct {
				Arbiter bool `bson:"arbiterOnly"`
			} `bson:"members"`
			Journal  *bool `bson:"writeConcernMajorityJournalDefault"`
			Settings struct {
				Election int64 `bson:"electionTimeoutMillis"`
			} `bson:"settings"`
		} `bson:"config"`
	}
	if d.ask(ctx, &reply, bson.E{Key: "replSetGetConfig", Value: 1}) {
		data, arbiters = 0, 0
		for _, member := range reply.Config.Members {
			if member.Arbiter {
				arbiters++
			} else {
				data++
			}
		}
		if j := reply.Config.Journal; j != nil {
			d.set("majority waits for the journal", strconv.FormatBool(*j))
		}
		d.set("election timeout", fmt.Sprintf("%d ms", reply.Config.Settings.Election))
	}
	d.set("data nodes", strconv.Itoa(data))
	d.set("arbiters", strconv.Itoa(arbiters))
	t := &d.product.Topology
	t.Nodes, t.Replicas, t.Arbiters = data+arbiters, data, arbiters
}

// machine is that of the primary; the others are taken to be alike.
func (d *description) machine(ctx context.Context) {
	var host struct {
		System struct {
			Cores    int   `bson:"numCores"`
			Memory   int64 `bson:"memSizeMB"`
			MemLimit int64 `bson:"memLimitMB"`
		} `bson:"system"`
	}
	t := &d.product.Topology
	if !d.sharded && d.ask(ctx, &host, bson.E{Key: "hostInfo", Value: 1}) {
		t.CPUsPerNode = host.System.Cores
		t.MemoryPerNode = host.System.Memory << 20
		if limit := host.System.MemLimit << 20; limit > 0 {
			t.MemoryPerNode = min(t.MemoryPerNode, limit)
		}
	}
	var disk struct {
		Total float64 `bson:"fsTotalSize"`
	}
	if !d.sharded && d.ask(ctx, &disk, bson.E{Key: "dbStats", Value: 1}) {
		t.DiskBytesPerNode = int64(disk.Total)
	}
}
