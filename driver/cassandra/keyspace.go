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

// markTable has the mark in its comment. So table and mark appear together, and every node knows
// the mark as a part of the schema. It has no rows.
const markTable = "assay_mark"

// table is one table; counted is the column by which rows are counted.
type table struct{ name, columns, counted string }

// full is a table's name in statements. An existing table's may be a reserved word.
func (k *database) full(table string) string {
	if k.schema.Existing {
		return fmt.Sprintf("%q.%q", k.keyspace, strings.ToLower(table))
	}
	return fmt.Sprintf("%q.%s", k.keyspace, table)
}

func (k *database) run(ctx context.Context, doing, statement string) error {
	if err := k.session.Query(statement).ExecContext(ctx); err != nil {
		return failed(doing, err)
	}
	return nil
}

// rowsOf asks about the schema, which each node answers itself, and calls each after scan is
// filled.
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

// foreign is the error of somebody else's keyspace, or of a table in ours.
func (k *database) foreign(table string) error {
	name := "keyspace " + k.keyspace
	if table != "" {
		name = fmt.Sprintf("table %s of keyspace %s", table, k.keyspace)
	}
	return &store.ForeignError{Name: name, Hint: fmt.Sprintf(
		"name another keyspace in the address (cassandra://HOST/KEYSPACE), or drop it with DROP KEYSPACE %q in cqlsh if nobody needs it", k.keyspace)}
}

func (k *database) Title() string { return "keyspace " + k.keyspace }

// Rows implements ownership.Place. It counts the first table's rows.
func (k *database) Rows(ctx context.Context, _ ownership.Direct) (int64, error) {
	return k.count(ctx, k.tables[0])
}

// Create drops what an earlier run left under our mark, makes the keyspace and its tables, and
// waits until all known nodes agree on the schema.
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

// WriteMark implements ownership.Place. FinishLoad does no more: rows in memory count like those on
// disk, and compaction runs by itself.
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

func markComment(m store.Marker) (string, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return "", failed("write the mark", err)
	}
	return "comment = '" + strings.ReplaceAll(string(text), "'", "''") + "'", nil
}

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

func replicated(now map[string]string, copies map[string]int) bool {
	for center, n := range copies {
		if now[center] != strconv.Itoa(n) {
			return false
		}
	}
	return len(now) == len(copies)+1 // the class
}

func (k *database) agree(ctx context.Context) error {
	if err := k.session.AwaitSchemaAgreement(ctx); err != nil {
		return failed("wait until the nodes agree on the schema; is one down?", err)
	}
	return nil
}

// centers counts the nodes of each data center, including those that are down.
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

func (k *database) replicas(ctx context.Context) (map[string]int, error) {
	copies, err := k.centers(ctx)
	for center, nodes := range copies {
		copies[center] = min(nodes, k.replication)
	}
	return copies, err
}

func cqlMap(copies map[string]int) string {
	text := "{'class': 'NetworkTopologyStrategy'"
	for _, center := range slices.Sorted(maps.Keys(copies)) {
		text += fmt.Sprintf(", '%s': %d", strings.ReplaceAll(center, "'", "''"), copies[center])
	}
	return text + "}"
}

// Drop drops the keyspace with the lease, if it has our mark or only a lease.
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

// clear drops all tables except the lease's, the mark's last, if there is our mark. It first checks
// lease and others.
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

const (
	flushPeriod = time.Second
	flushBound  = 15 * time.Second
)

// Size asks each node for its tables' size in whole mebibytes (system_views.disk_usage), all copies
// together. Nodes do not count memory, so they are told to flush by a table's
// memtable_flush_period_in_ms. A node that is down would hold up that change; then nothing is
// flushed, and that node is not counted.
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

// flush makes all nodes write a table to disk. Nodes without any of it never show it, so it stops
// at flushBound.
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

// diskUsage adds up the nodes' sizes of a table; none counts the nodes that have nothing of it on
// disk.
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

func (k *database) allUp() bool {
	return !slices.ContainsFunc(k.session.GetHosts(), func(h *gocql.HostInfo) bool { return !h.IsUp() })
}
