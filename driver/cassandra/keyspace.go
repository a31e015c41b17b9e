package cassandra

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"assay/driver/ownership"
	"assay/internal/wait"
	"assay/store"
)

// markTable carries the mark in its comment, so that it comes into being with
// it, and every node knows it by itself as a part of the schema. It has no
// rows.
const markTable = "assay_mark"

// table is one table; its rows are counted by the column counted.
type table struct{ name, columns, counted string }

// full is a table's name as statements have it. One that was there before may be a reserved word.
func (k *database) full(table string) string {
	if k.schema.Existing {
		return fmt.Sprintf("%q.%q", k.keyspace, strings.ToLower(table))
	}
	return fmt.Sprintf("%q.%s", k.keyspace, table)
}

// run executes a statement without rows.
func (k *database) run(ctx context.Context, doing, statement string) error {
	if err := k.session.Query(statement).ExecContext(ctx); err != nil {
		return failed(doing, err)
	}
	return nil
}

// rowsOf runs a question about the schema, which every node answers by itself,
// and calls each for every row with what scan has filled.
func (k *database) rowsOf(ctx context.Context, doing, statement string, values []any, scan []any, each func()) error {
	iter := k.session.Query(statement, values...).Consistency(gocql.One).IterContext(ctx)
	for iter.Scan(scan...) {
		each()
	}
	if err := iter.Close(); err != nil {
		return failed(doing, err)
	}
	return nil
}

// ReadMark implements ownership.Place: the mark is nil if there is no keyspace of our name or nothing in it
// but a lease, and *store.ForeignError if there is one without a mark, or with a table that
// is not ours.
func (k *database) ReadMark(ctx context.Context, _ ownership.Direct) (*store.Marker, error) {
	there := false
	var name string
	if err := k.rowsOf(ctx, "look for the keyspace", "SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?",
		[]any{k.keyspace}, []any{&name}, func() { there = true }); err != nil || !there {
		return nil, err
	}
	comments := map[string]string{}
	var comment string
	if err := k.rowsOf(ctx, "list the tables", "SELECT table_name, comment FROM system_schema.tables WHERE keyspace_name = ?",
		[]any{k.keyspace}, []any{&name, &comment}, func() { comments[name] = comment }); err != nil {
		return nil, err
	}
	if _, leased := comments[leaseTable]; leased && len(comments) == 1 {
		return nil, nil
	}
	var m store.Marker
	if err := json.Unmarshal([]byte(comments[markTable]), &m); err != nil || m.Workload == "" {
		return nil, k.foreign("")
	}
	for _, name := range slices.Sorted(maps.Keys(comments)) {
		if name != markTable && name != leaseTable && !slices.ContainsFunc(k.tables, func(t table) bool { return t.name == name }) {
			return nil, k.foreign(name)
		}
	}
	m.Created = m.Created.UTC()
	return &m, nil
}

// foreign says that the keyspace, or a table in it, is not ours.
func (k *database) foreign(table string) error {
	name := "keyspace " + k.keyspace
	if table != "" {
		name = fmt.Sprintf("table %s of keyspace %s", table, k.keyspace)
	}
	return &store.ForeignError{Name: name, Hint: fmt.Sprintf(
		"name another keyspace in the address (cassandra://HOST/KEYSPACE), or drop it with DROP KEYSPACE %q in cqlsh if nobody needs it", k.keyspace)}
}

// Title implements ownership.Place.
func (k *database) Title() string { return "keyspace " + k.keyspace }

// Rows implements ownership.Place: it counts those of the first table.
func (k *database) Rows(ctx context.Context, _ ownership.Direct) (int64, error) {
	return k.count(ctx, k.tables[0])
}

// Create makes the keyspace and its tables, after dropping what an earlier run
// left under our mark, and returns when all nodes that are known agree on the
// schema.
func (k *database) Create(ctx context.Context, m store.Marker) error {
	if err := k.clear(ctx); err != nil {
		return err
	}
	comment, err := markComment(m)
	if err != nil {
		return err
	}
	if err := k.makeKeyspace(ctx); err != nil {
		return err
	}
	if err := k.run(ctx, "write the mark", fmt.Sprintf("CREATE TABLE %s (id int PRIMARY KEY) WITH %s", k.full(markTable), comment)); err != nil {
		return err
	}
	for _, t := range k.tables {
		if err := k.run(ctx, "create table "+t.name, fmt.Sprintf("CREATE TABLE %s (%s)", k.full(t.name), t.columns)); err != nil {
			return err
		}
	}
	return k.agree(ctx)
}

// WriteMark implements ownership.Place. What is in memory is as good as what is on the disk,
// and compaction goes by itself.
func (k *database) WriteMark(ctx context.Context, _ ownership.Direct, mark store.Marker) error {
	comment, err := markComment(mark)
	if err != nil {
		return err
	}
	if err := k.run(ctx, "finish loading", fmt.Sprintf("ALTER TABLE %s WITH %s", k.full(markTable), comment)); err != nil {
		return err
	}
	return k.agree(ctx)
}

// markComment is the property of a table that holds the mark.
func markComment(m store.Marker) (string, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return "", failed("write the mark", err)
	}
	return "comment = '" + strings.ReplaceAll(string(text), "'", "''") + "'", nil
}

// makeKeyspace makes the keyspace if it is not there, and gives it the replication
// that is wanted now.
func (k *database) makeKeyspace(ctx context.Context) error {
	replication, err := k.replicas(ctx)
	if err != nil {
		return err
	}
	there, same := false, false
	var now map[string]string
	if err := k.rowsOf(ctx, "look for the keyspace", "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?",
		[]any{k.keyspace}, []any{&now}, func() { there, same = true, replicated(now, replication) }); err != nil {
		return err
	}
	switch {
	case !there:
		err = k.run(ctx, "create the keyspace", fmt.Sprintf("CREATE KEYSPACE IF NOT EXISTS %q WITH replication = %s", k.keyspace, cqlMap(replication)))
	case !same:
		err = k.run(ctx, "alter the keyspace", fmt.Sprintf("ALTER KEYSPACE %q WITH replication = %s", k.keyspace, cqlMap(replication)))
	}
	if err != nil {
		return err
	}
	return k.agree(ctx) // the next statement may go to another node
}

// replicated reports whether a keyspace's replication, as the schema has it, is
// this one.
func replicated(now map[string]string, copies map[string]int) bool {
	for center, n := range copies {
		if now[center] != strconv.Itoa(n) {
			return false
		}
	}
	return len(now) == len(copies)+1 // the class
}

// agree returns when the nodes have one schema.
func (k *database) agree(ctx context.Context) error {
	if err := k.session.AwaitSchemaAgreement(ctx); err != nil {
		return failed("wait until the nodes agree on the schema; is one down?", err)
	}
	return nil
}

// centers counts the nodes of each data center, those that are down as well.
func (k *database) centers(ctx context.Context) (map[string]int, error) {
	nodes := map[string]int{}
	var center string
	for _, source := range []string{"system.local", "system.peers"} {
		if err := k.rowsOf(ctx, "count the nodes", "SELECT data_center FROM "+source, nil, []any{&center},
			func() { nodes[center]++ }); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// replicas is how many copies each data center gets.
func (k *database) replicas(ctx context.Context) (map[string]int, error) {
	copies, err := k.centers(ctx)
	for center, nodes := range copies {
		copies[center] = min(nodes, k.replication)
	}
	return copies, err
}

// cqlMap writes the map of a NetworkTopologyStrategy.
func cqlMap(copies map[string]int) string {
	text := "{'class': 'NetworkTopologyStrategy'"
	for _, center := range slices.Sorted(maps.Keys(copies)) {
		text += fmt.Sprintf(", '%s': %d", strings.ReplaceAll(center, "'", "''"), copies[center])
	}
	return text + "}"
}

// Drop drops the keyspace, with the lease, if it carries our mark or holds nothing
// but a lease.
func (k *database) Drop(ctx context.Context) error {
	m, err := k.Admit(ctx, ownership.Direct{})
	if err != nil {
		return err
	}
	leased, err := k.leaseThere(ctx)
	if err != nil || m == nil && !leased {
		return err
	}
	return k.run(ctx, "drop the keyspace", fmt.Sprintf("DROP KEYSPACE %q", k.keyspace))
}

// clear drops all tables but the lease's, if there is our mark and no lease keeps
// us out. The mark goes last.
func (k *database) clear(ctx context.Context) error {
	m, err := k.Admit(ctx, ownership.Direct{})
	if err != nil || m == nil {
		return err
	}
	for _, t := range append(k.tables[:len(k.tables):len(k.tables)], table{name: markTable}) {
		if err := k.run(ctx, "drop table "+t.name, fmt.Sprintf("DROP TABLE IF EXISTS %s", k.full(t.name))); err != nil {
			return err
		}
	}
	return nil
}

// The time that a table is given to reach the disk, and how often it is looked
// at.
const (
	flushPeriod = time.Second
	flushBound  = 15 * time.Second
)

// Size asks each node what its tables take, in whole mebibytes
// (system_views.disk_usage), all copies together. What a node has in memory only
// is not counted; so it is asked to write it, by a table's
// memtable_flush_period_in_ms, unless a node is down, which would hold up the
// change of the table. A node that does not write is counted as it is, one that
// is down not at all.
func (k *database) Size(ctx context.Context) (store.Size, error) {
	if err := k.MustBeOurs(ctx, "size"); err != nil {
		return store.Size{}, err
	}
	size := store.Size{Rows: map[string]int64{}}
	for _, t := range k.tables {
		rows, err := k.count(ctx, t)
		if err != nil {
			return store.Size{}, err
		}
		size.Rows[t.name] = rows
		if rows > 0 && k.allUp() {
			if err := k.flush(ctx, t.name); err != nil {
				return store.Size{}, err
			}
		}
		used, _, err := k.diskUsage(ctx, t.name)
		if err != nil {
			return store.Size{}, err
		}
		size.Bytes += used
	}
	size.Tables = size.Bytes
	return size, nil
}

// flush has all nodes write the table to the disk, and gives up waiting for
// those that hold nothing of it after flushBound.
func (k *database) flush(ctx context.Context, table string) error {
	set := func(ctx context.Context, period time.Duration) error {
		return k.run(ctx, "have the table written", fmt.Sprintf("ALTER TABLE %s WITH memtable_flush_period_in_ms = %d",
			k.full(table), period.Milliseconds()))
	}
	if err := set(ctx, flushPeriod); err != nil {
		return err
	}
	deadline := time.Now().Add(flushBound)
	for {
		_, none, err := k.diskUsage(ctx, table)
		if err != nil || none == 0 || time.Now().After(deadline) {
			return errors.Join(err, set(ctx, 0))
		}
		if err := wait.Pause(ctx, flushPeriod/4); err != nil {
			return failed("have the table written", errors.Join(err, set(context.WithoutCancel(ctx), 0)))
		}
	}
}

// diskUsage adds up what the nodes say, and counts those that have nothing of
// the table on the disk.
func (k *database) diskUsage(ctx context.Context, table string) (bytes int64, none int, err error) {
	for _, host := range k.session.GetHosts() {
		if !host.IsUp() {
			continue
		}
		var mebibytes int64
		err := k.session.Query("SELECT mebibytes FROM system_views.disk_usage WHERE keyspace_name = ? AND table_name = ?",
			k.keyspace, table).SetHostID(host.HostID()).Consistency(gocql.One).ScanContext(ctx, &mebibytes)
		if errors.Is(err, gocql.ErrNoConnections) {
			continue // it has just gone down
		}
		if err != nil && !errors.Is(err, gocql.ErrNotFound) {
			return 0, 0, failed("ask for the size of table "+table, err)
		}
		if mebibytes == 0 {
			none++
		}
		bytes += mebibytes << 20
	}
	return bytes, none, nil
}

// allUp reports whether no node is known to be down.
func (k *database) allUp() bool {
	return !slices.ContainsFunc(k.session.GetHosts(), func(h *gocql.HostInfo) bool { return !h.IsUp() })
}
