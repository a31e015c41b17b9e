package mongodb

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/driver/encryption"
	"assay/store"
)

// Describe asks the installation what it is. What the user may not ask for is left out. It
// tells, too, what is not done behind a router, where nothing else says so: there are no
// replicas to be checked, and no compaction to be run.
func (s *database) Describe(ctx context.Context) (store.Product, error) {
	d := &description{connection: s.connection, product: store.Product{Name: "MongoDB"}}
	if err := d.basics(ctx); err != nil {
		return store.Product{}, failed("describe", err)
	}
	d.engine(ctx)
	d.concerns()
	d.members(ctx)
	if !s.sharded { // a router does not know of the shards' parameters
		d.set("transaction lifetime limit", s.lifetime(ctx).String())
	}
	d.machine(ctx)
	if options, told := d.ask(ctx, "getCmdLineOpts").Lookup("parsed").DocumentOK(); told {
		values := map[string]string{}
		flatten(values, "", options)
		d.product.Changed = store.Changed(values)
	}
	if s.application != nil {
		d.product.Settings = s.application.inForce(d.product.Settings)
	}
	switch {
	case !s.sharded || s.of.Reads:
	case s.application != nil:
		d.set(compactCommand, "not run: a mongos does not have it, and it must be run on each shard's members")
	default:
		d.set("check of replicas", "not checked: the members of a shard hold a part of the data, which cannot be compared with the whole one by one")
	}
	return d.product, nil
}

// flatten enters the options of a document by their paths (manual, "getCmdLineOpts").
func flatten(values map[string]string, path string, of bson.Raw) {
	elements, err := of.Elements()
	if err != nil {
		return // what cannot be read is not told
	}
	for _, e := range elements {
		name := strings.TrimPrefix(path+"."+e.Key(), ".")
		if inner, is := e.Value().DocumentOK(); is {
			flatten(values, name, inner)
			continue
		}
		var value any
		if err := e.Value().Unmarshal(&value); err == nil {
			values[name] = fmt.Sprint(value)
		}
	}
}

// description collects what is known of the installation.
type description struct {
	*connection
	hello   helloReply
	product store.Product
}

func (d *description) set(name, value string) {
	d.product.Settings = append(d.product.Settings, store.Setting{Name: name, Value: value})
}

// ask runs a command on database admin that not every user may run. Without an answer
// what it gives is empty.
func (d *description) ask(ctx context.Context, command string) (answer bson.Raw) {
	answer, err := d.admin.RunCommand(ctx, bson.D{{Key: command, Value: 1}}).Raw()
	if err != nil {
		return nil
	}
	return answer
}

// basics are what every user may know.
func (d *description) basics(ctx context.Context) (err error) {
	build, err := d.build(ctx)
	if err != nil {
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
	status := d.ask(ctx, "serverStatus")
	name, _ := status.Lookup("storageEngine", "name").StringValueOK()
	if name == "" {
		return // a router has none
	}
	d.set("storage engine", name)
	if persistent, told := status.Lookup("storageEngine", "persistent").BooleanOK(); told && !persistent {
		d.set("storage engine is persistent", "false")
	}
	if size := numberIn(status, "wiredTiger", "cache", "maximum bytes configured"); size > 0 {
		d.set("cache", fmt.Sprintf("%.0f MiB a node", float64(size)/(1<<20)))
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
	if d.majorityWait > 0 {
		d.set("wtimeout", d.majorityWait.String())
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
	if d.standalone {
		d.set("deployment", "standalone server")
		d.set("data nodes", "1")
		d.product.Topology.Nodes, d.product.Topology.Replicas = 1, 1
		return
	}
	d.set("deployment", "replica set "+d.hello.SetName)
	data, arbiters := len(d.hello.Hosts)+len(d.hello.Passives), len(d.hello.Arbiters)
	if config := d.ask(ctx, "replSetGetConfig"); config != nil {
		data, arbiters = 0, 0
		members, _ := config.Lookup("config", "members").ArrayOK()
		values, _ := members.Values()
		for _, member := range values {
			if isTrue(member, "arbiterOnly") {
				arbiters++
			} else {
				data++
			}
		}
		if journal, told := config.Lookup("config", "writeConcernMajorityJournalDefault").BooleanOK(); told {
			d.set("majority waits for the journal", strconv.FormatBool(journal))
		}
		d.set("election timeout", fmt.Sprintf("%d ms", numberIn(config, "config", "settings", "electionTimeoutMillis")))
	}
	d.set("data nodes", strconv.Itoa(data))
	d.set("arbiters", strconv.Itoa(arbiters))
	t := &d.product.Topology
	t.Nodes, t.Replicas, t.Arbiters = data+arbiters, data, arbiters
}

// isTrue reports whether a document has a field that is true.
func isTrue(document bson.RawValue, field string) bool {
	fields, _ := document.DocumentOK()
	is, _ := fields.Lookup(field).BooleanOK()
	return is
}

// machine is the machine of the primary; the others are taken to be alike.
func (d *description) machine(ctx context.Context) {
	if d.sharded {
		return
	}
	t := &d.product.Topology
	if host := d.ask(ctx, "hostInfo"); host != nil {
		t.CPUsPerNode = int(numberIn(host, "system", "numCores"))
		t.MemoryPerNode = numberIn(host, "system", "memSizeMB") << 20
		if limit := numberIn(host, "system", "memLimitMB") << 20; limit > 0 {
			t.MemoryPerNode = min(t.MemoryPerNode, limit)
		}
	}
	t.DiskBytesPerNode = numberIn(d.ask(ctx, "dbStats"), "fsTotalSize")
}
