package redis

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	cluster "assay/cluster/redis"
	"assay/cluster/server"
	"assay/history"
	"assay/internal/expect"
	"assay/internal/resp"
	"assay/internal/wait"
	"assay/store"
	"assay/workload/availability"
)

// testRefusals provokes each reason to refuse writes.
func testRefusals(t *testing.T, address string) {
	client := somebody(t, address)
	for _, c := range []struct {
		alone, together string
		begin           func(t *testing.T)
	}{
		{classFewReplicas, classFewReplicas, func(t *testing.T) { configure(t, client, "min-replicas-to-write", "1") }},
		{classMemory, classMemory, func(t *testing.T) { configure(t, client, "maxmemory", "1") }},
		{store.ClassNotPrimary, store.ClassNotPrimary, func(t *testing.T) { follow(t, client) }},
		// A write is refused as such, a transaction at its first read.
		{store.ClassNotPrimary, classPrimaryDown, func(t *testing.T) {
			configure(t, client, "replica-serve-stale-data", "no")
			follow(t, client)
		}},
		{classBusy, classBusy, func(t *testing.T) { loop(t, client) }},
	} {
		t.Run(c.together, func(t *testing.T) {
			d, s := records(t, "redis://"+address)
			other := sessionOn(t, d)
			if r := s.insertRecord(expect.Patiently(t), 1); r.Outcome != history.Committed {
				t.Fatalf("before: %+v", r)
			}
			t.Run("refused", func(t *testing.T) {
				c.begin(t)
				wantFailed(t, s, other, [2]string{c.alone, c.together}, 10)
			})
			wantNothing(t, sessionOn(t, d), 10)
		})
	}
	t.Run(classLoading, func(t *testing.T) { testLoading(t, client, address) })
}

// follow makes the server a replica of a missing primary until the test ends.
func follow(t *testing.T, client *goredis.Client) {
	tell(t, client, "replicaof", "127.0.0.1", "1")
	t.Cleanup(func() { tell(t, client, "replicaof", "no", "one") })
}

// loop keeps the server busy with a script until the test ends.
func loop(t *testing.T, client *goredis.Client) {
	configure(t, client, "busy-reply-threshold", "10")
	ended := make(chan error, 1)
	ctx, cancel := context.WithTimeout(context.Background(), expect.Patience)
	go func() { ended <- client.Do(ctx, "eval", "while true do end", "0").Err() }()
	t.Cleanup(func() {
		tell(t, client, "script", "kill")
		<-ended
		cancel()
	})
	for ctx.Err() == nil {
		if err := client.Do(ctx, "ping").Err(); err != nil && strings.HasPrefix(err.Error(), "BUSY") {
			return
		}
		_ = wait.Pause(ctx, 5*time.Millisecond)
	}
	t.Fatal("the server is not busy")
}

func testLoading(t *testing.T, client *goredis.Client, address string) {
	_, s := records(t, "redis://"+address)
	for n := range int64(300) {
		if r := s.insertRecord(expect.Patiently(t), n); r.Outcome != history.Committed {
			t.Fatalf("before: %+v", r)
		}
	}
	configure(t, client, "loading-process-events-interval-bytes", "1024")
	configure(t, client, "key-load-delay", "10000")
	other := somebody(t, address)
	loaded := make(chan error, 1)
	ctx := expect.Patiently(t)
	go func() { loaded <- other.Do(ctx, "debug", "reload").Err() }()
	for r := s.insertRecord(ctx, 1000); r.Class != classLoading; r = s.insertRecord(ctx, 1000) {
		if r.Broken || r.Outcome == history.Unknown {
			t.Fatalf("meanwhile: %+v", r)
		}
		select {
		case err := <-loaded:
			t.Fatalf("it never said that it loads its data: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	wantFailed(t, s, s, [2]string{classLoading, classLoading}, 2000)
	expect.NoError(t, <-loaded)
	wantNothing(t, s, 2000)
}

func testChanged(t *testing.T, address string) {
	d, s := records(t, "redis://"+address)
	other := sessionOn(t, d)
	ctx := expect.Patiently(t)
	r := s.transact(ctx, 7, func() {
		if r := other.insertRecord(ctx, 7); r.Outcome != history.Committed {
			t.Errorf("the other: %+v", r)
		}
	})
	if r.Outcome != history.Failed || r.Class != store.ClassSerialization || r.Broken || !r.Conflict() {
		t.Errorf("a transaction that read a row which another has made since: %+v", r)
	}
	if r := s.transact(ctx, 7, nil); r.Violated != store.Unique || r.Outcome != history.Failed {
		t.Errorf("again: %+v", r)
	}
	if r := s.transact(ctx, 8, func() { other.insertRecord(ctx, 9) }); r.Outcome != history.Committed {
		t.Errorf("another row was changed meanwhile: %+v", r)
	}
	// The reads of an abandoned transaction are no longer watched.
	left := errors.New("left")
	s.Transaction(ctx, true, func(ctx context.Context, tx store.Transaction) error {
		_, err := tx.Do(ctx, readOne, func(store.Row) error { return nil }, values(&d.of.Tables[0], 20)[:d.of.Tables[0].Keys()]...)
		return errors.Join(err, left)
	})
	other.insertRecord(ctx, 20)
	if r := s.transact(ctx, 21, nil); r.Outcome != history.Committed {
		t.Errorf("after one that was left: %+v", r)
	}
}

// testNotReplicated wants too many replicas: the write is done and not acknowledged.
func testNotReplicated(t *testing.T, address string) {
	records(t, "redis://"+address)
	d := opened(t, "redis://"+address+"/?wait=1&waitMS=50")
	for number, write := range map[int64]func(s *session) store.Reply{
		1: func(s *session) store.Reply { return s.insertRecord(expect.Patiently(t), 1) },
		2: func(s *session) store.Reply { return s.transact(expect.Patiently(t), 2, nil) },
	} {
		s := sessionOn(t, d)
		if r := write(s); r.Outcome != history.Unknown || r.Class != classNotReplicated || r.Broken {
			t.Errorf("%+v; want unknown", r)
		}
		if found, r := s.readRecord(expect.Patiently(t), number); found != 1 || r.Outcome != history.Committed {
			t.Errorf("%d rows, %+v; want it there", found, r)
		}
	}
	if r := sessionOn(t, d).insertRecord(expect.Patiently(t), 1); r.Violated != store.Unique || r.Outcome != history.Failed {
		t.Errorf("a row that is there: %+v", r)
	}
}

func testKilled(t *testing.T, address string) {
	d, s := records(t, "redis://"+address)
	client := somebody(t, address)
	r := s.transact(expect.Patiently(t), 1, func() { killAll(t, client, d.clientName("tested")) })
	if r.Outcome != history.Unknown || r.Class != store.ClassLost || !r.Broken {
		t.Errorf("a commit over a connection that is gone: %+v", r)
	}
	if r := s.insertRecord(expect.Patiently(t), 2); r.Outcome != history.Failed || !r.Broken {
		t.Errorf("over a connection that is known to be gone: %+v", r)
	}
	wantNothing(t, sessionOn(t, d), 1)
}

func killAll(t *testing.T, client *goredis.Client, name string) {
	t.Helper()
	killed := 0
	text, _ := tell(t, client, "client", "list").(string)
	for line := range strings.Lines(text) {
		if id, _, is := strings.Cut(strings.TrimPrefix(line, "id="), " "); is && strings.Contains(line, " name="+name+" ") {
			tell(t, client, "client", "kill", "id", id)
			killed++
		}
	}
	if killed == 0 {
		t.Errorf("no connection is called %s", name)
	}
}

// testSettle: Settle ends a session, and leaves one of another run.
func testSettle(t *testing.T, address string) {
	d, s := records(t, "redis://"+address)
	client := somebody(t, address)
	tell(t, client, "client", "setname", d.clientName("another"))
	expect.NoError(t, d.Settle(expect.Patiently(t)))
	if r := s.insertRecord(expect.Patiently(t), 1); r.Outcome == history.Committed || !r.Broken {
		t.Errorf("a session of a run that has settled: %+v", r)
	}
	if id := tell(t, client, "client", "getname"); id != d.clientName("another") {
		t.Errorf("the connection of another run is gone: %v", id)
	}
}

func testBlocked(t *testing.T, address string) {
	client := somebody(t, address)
	wants := func(d *database, part string) {
		t.Helper()
		by, err := d.Blocked(expect.Patiently(t))
		if err != nil || part == "" && by != "" || !strings.Contains(by, part) {
			t.Errorf("blocked by %q, %v; want %q", by, err, part)
		}
	}
	d := opened(t, "redis://"+address)
	wants(d, "")
	wants(opened(t, "redis://"+address+"/?wait=1"), "wait=1")
	t.Run("min-replicas", func(t *testing.T) {
		configure(t, client, "min-replicas-to-write", "1")
		wants(d, "min-replicas-to-write")
	})
	t.Run("busy", func(t *testing.T) {
		loop(t, client)
		wants(d, "SCRIPT KILL")
	})
}

// TestCannotSave: the server refuses writes because it cannot write its snapshot.
func TestCannotSave(t *testing.T) {
	c := start(t, cluster.Options{Settings: []string{"save 3600 1"}})
	address := c.Node(0).Address()
	client := somebody(t, address)
	_, s := records(t, "redis://"+address)
	file := filepath.Join(c.Data(0), "dump.rdb")
	failSaving(t, client, file)
	wantFailed(t, s, s, [2]string{classDisk, classDisk}, 10)
	wantNothing(t, s, 10)
	expect.NoError(t, os.Remove(file))
	tell(t, client, "save") // and it takes writes again
}

// TestEvicted: keys without their evicted mark are left alone, and the eviction is named.
func TestEvicted(t *testing.T) {
	c := start(t, cluster.Options{})
	client := somebody(t, c.Node(0).Address())
	d := opened(t, "redis://"+c.Node(0).Address())
	ctx := expect.Patiently(t)
	expect.NoError(t, d.Create(ctx, store.Marker{Run: "tested", Workload: availability.Name, Created: time.Now()}))
	row := d.table(availability.Schema().Tables[0].Name) + "1"
	tell(t, client, "set", row, "left")
	tell(t, client, "del", d.mark())
	if _, err := d.Marker(ctx); err == nil || strings.Contains(err.Error(), "evict") {
		t.Errorf("nothing was evicted: %v", err)
	}
	tell(t, client, "config", "set", "maxmemory-policy", "allkeys-random")
	tell(t, client, "config", "set", "maxmemory", "1")
	for ctx.Err() == nil && tell(t, client, "exists", row) != int64(0) {
		_ = wait.Pause(ctx, 10*time.Millisecond)
	}
	tell(t, client, "config", "set", "maxmemory", "0")
	tell(t, client, "set", row, "left")
	_, err := d.Marker(ctx)
	if foreign := (*store.ForeignError)(nil); !errors.As(err, &foreign) || !strings.Contains(foreign.Lost, "allkeys-random") || strings.Contains(err.Error(), "not made by assay") {
		t.Errorf("the mark was evicted: %v", err)
	}
}

// failSaving puts a folder in the place of the server's snapshot.
func failSaving(t *testing.T, client *goredis.Client, file string) {
	t.Helper()
	expect.NoError(t, os.Mkdir(file, 0o700))
	tell(t, client, "bgsave")
	ctx := expect.Patiently(t)
	for ctx.Err() == nil {
		if text, _ := tell(t, client, "info", "persistence").(string); strings.Contains(text, "rdb_last_bgsave_status:err") {
			return
		}
		_ = wait.Pause(ctx, 10*time.Millisecond)
	}
	t.Fatal("the snapshot was written")
}

func TestCluster(t *testing.T) {
	bus, err := new(server.Ports).Next() // its own choice may be taken by a client
	expect.NoError(t, err)
	c := start(t, cluster.Options{Settings: []string{"cluster-enabled yes", "cluster-port " + strconv.Itoa(bus)}})
	_, err = Open(expect.Patiently(t), store.Target{Address: c.Address()}, availability.Schema())
	if _, is := errors.AsType[*store.OptionError](err); !is || !strings.Contains(err.Error(), "Redis Cluster") {
		t.Errorf("%v", err)
	}
}

// TestMeanings: only the table's texts prove that nothing was done.
func TestMeanings(t *testing.T) {
	for text, class := range map[string]string{
		"MOVED 3999 127.0.0.1:6381":                        classSlots,
		"CROSSSLOT Keys in request don't hash to the same": classSlots,
		"TRYAGAIN Multiple keys request during rehashing":  classMigrating,
		"CLUSTERDOWN Hash slot not served":                 classClusterDown,
		"NOPERM this user has no permissions":              classUnauthorized,
		"WRONGTYPE Operation against a key holding":        classType,
	} {
		if r := answered("write", resp.Error(text)); r.Outcome != history.Failed || r.Class != class {
			t.Errorf("%s: %+v", text, r)
		}
	}
	for _, text := range []string{"ERR syntax error", "UNBLOCKED force unblock from blocking operation", "SOMETHING new"} {
		if r := answered("write", resp.Error(text)); r.Outcome != history.Unknown || r.Class != store.ClassOther {
			t.Errorf("%s: %+v", text, r)
		}
	}
	full := (&database{settings: &settings{}}).unreached(t.Context(), "open", resp.Error(noClients))
	if !strings.Contains(full.Error(), "maxclients") {
		t.Errorf("no client is taken any more: %v", full)
	}
	readOnly := &command{err: resp.Error("READONLY You can't write against a read only replica.")}
	for _, c := range []struct {
		exec    error
		queued  []*command
		outcome history.Outcome
		class   string
	}{
		{errNone, nil, history.Failed, store.ClassSerialization},
		{resp.Error("EXECABORT Transaction discarded because of previous errors."), []*command{readOnly}, history.Failed, store.ClassNotPrimary},
		{resp.Error("EXECABORT Transaction discarded because of: OOM command not allowed"), nil, history.Failed, classMemory},
		{resp.Error("EXECABORT Transaction discarded because of previous errors."), nil, history.Failed, classAborted},
		// MULTI was refused, and the commands behind it were executed.
		{resp.Error("ERR EXEC without MULTI"), nil, history.Unknown, store.ClassOther},
		{resp.Error("READONLY it is answered to EXEC alone"), nil, history.Unknown, store.ClassNotPrimary},
	} {
		if r := executed("commit", &command{err: c.exec}, c.queued); r.Outcome != c.outcome || r.Class != c.class {
			t.Errorf("%v: %+v; want %v, %q", c.exec, r, c.outcome, c.class)
		}
	}
	half := &command{answer: []any{"OK", resp.Error("ERR one of two has failed")}}
	if r := executed("commit", half, nil); r.Outcome != history.Unknown {
		t.Errorf("a transaction of which a command has failed: %+v", r)
	}
}
