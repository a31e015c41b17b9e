package streaming

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/cluster/server"
	"assay/internal/expect"
)

func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(address)
	expect.NoError(t, err)
	config.ConnectTimeout = expect.Patience // the address has seconds, which a busy machine may take
	conn, err := pgx.ConnectConfig(t.Context(), config)
	expect.NoError(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func query(t *testing.T, s *Plain, i int, sql string) (value string) {
	t.Helper()
	conn := connect(t, s.AddressOf(i))
	expect.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&value))
	expect.NoError(t, conn.Close(t.Context()))
	return value
}

func startPlain(t *testing.T, o PlainOptions) *Plain {
	t.Helper()
	began := time.Now()
	if o.LogDir == "" {
		o.LogDir = t.TempDir()
	}
	s, err := StartPlain(expect.Patiently(t), o)
	expect.NoError(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		checkSharedMemory(t, o.LogDir, began)
	})
	return s
}

// checkSharedMemory requires that the logs' processes left no shared memory.
func checkSharedMemory(t *testing.T, logs string, began time.Time) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(logs, "postgres-*.log"))
	if err != nil || len(files) == 0 {
		t.Fatalf("logs %v, %v", files, err)
	}
	ours := make(map[string]bool)
	for _, file := range files {
		text, err := os.ReadFile(file)
		expect.NoError(t, err)
		for _, found := range regexp.MustCompile(`UTC \[(\d+)\]`).FindAllSubmatch(text, -1) {
			ours[string(found[1])] = true
		}
	}
	segments, err := os.ReadFile("/proc/sysvipc/shm")
	expect.NoError(t, err)
	for line := range strings.Lines(string(segments)) {
		fields := strings.Fields(line)
		if len(fields) < 14 || !ours[fields[4]] {
			continue
		}
		// The process id may be an earlier server's.
		if made, err := strconv.ParseInt(fields[13], 10, 64); err == nil && made >= began.Unix() {
			t.Errorf("process %s left a segment of shared memory", fields[4])
		}
	}
}

// writer inserts numbers, one transaction each, and notes the acknowledged ones.
type writer struct {
	stop         chan struct{}
	done         chan struct{}
	mu           sync.Mutex
	acknowledged []int
}

func startWriter(t *testing.T, s *Plain, from int) *writer {
	t.Helper()
	w := &writer{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		var conn *pgx.Conn
		for n := from; ; n++ {
			select {
			case <-w.stop:
				if conn != nil {
					conn.Close(context.Background())
				}
				return
			default:
			}
			conn = w.write(s, conn, n)
		}
	}()
	t.Cleanup(w.end)
	return w
}

func (w *writer) write(s *Plain, conn *pgx.Conn, n int) *pgx.Conn {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if conn == nil {
		var err error
		if conn, err = pgx.Connect(ctx, s.Address()); err != nil {
			time.Sleep(20 * time.Millisecond)
			return nil
		}
	}
	if _, err := conn.Exec(ctx, "INSERT INTO seen VALUES ($1)", n); err != nil {
		conn.Close(ctx)
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acknowledged = append(w.acknowledged, n)
	return conn
}

func (w *writer) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acknowledged)
}

// more waits for some more acknowledged writes.
func (w *writer) more(t *testing.T) {
	t.Helper()
	before := w.count()
	expect.NoError(t, server.Until(expect.Patiently(t), 5*time.Millisecond, "acknowledged writes", func(context.Context) error {
		if count := w.count(); count < before+20 {
			return fmt.Errorf("there are %d, there were %d", count, before)
		}
		return nil
	}))
}

func (w *writer) end() {
	select {
	case <-w.stop:
	default:
		close(w.stop)
	}
	<-w.done
}

func seenBy(t *testing.T, s *Plain, i int) []int {
	t.Helper()
	rows, err := connect(t, s.AddressOf(i)).Query(t.Context(), "SELECT n FROM seen ORDER BY n")
	expect.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[int])
	expect.NoError(t, err)
	return all
}

// checkRows requires each acknowledged row once, and the same rows on all nodes.
func checkRows(t *testing.T, s *Plain, writers ...*writer) {
	t.Helper()
	expect.NoError(t, s.Settled(expect.Patiently(t)))
	rows := seenBy(t, s, 0)
	for i := 1; i < len(rows); i++ {
		if rows[i] == rows[i-1] {
			t.Errorf("row %d is there twice", rows[i])
		}
	}
	for _, w := range writers {
		for _, n := range w.acknowledged {
			if _, found := slices.BinarySearch(rows, n); !found {
				t.Errorf("row %d was acknowledged and is lost", n)
			}
		}
	}
	for i := range s.Nodes() {
		if s.Node(i).Running() && !slices.Equal(seenBy(t, s, i), rows) {
			t.Errorf("%s holds other rows than the primary", s.Name(i))
		}
	}
}

func table(t *testing.T, s *Plain) {
	t.Helper()
	expect.NoError(t, Execute(t.Context(), s.Address(), "CREATE TABLE seen (n integer)"))
}

// TestPostgresSetOfThree takes one set through all losses of three nodes. No acknowledged row may
// be lost, no standby promoted, and all nodes must be equal in the end.
func TestPostgresSetOfThree(t *testing.T) {
	t.Parallel()
	s := startPlain(t, PlainOptions{})
	table(t, s)
	if got := query(t, s, 0, "SHOW synchronous_standby_names"); got != `ANY 1 ("n2", "n3")` || len(s.Nodes()) != 3 {
		t.Errorf("commits on one of %d nodes wait for %s", len(s.Nodes()), got)
	}
	for i, step := range []struct {
		name string
		run  func(t *testing.T, s *Plain, w *writer)
	}{
		{"primary killed", func(t *testing.T, s *Plain, _ *writer) { primaryLost(t, s, s.Node(0).Kill) }},
		{"primary stopped", func(t *testing.T, s *Plain, w *writer) {
			primaryLost(t, s, func() error { return s.Node(0).Stop(t.Context()) })
		}},
		{"primary paused", func(t *testing.T, s *Plain, w *writer) {
			expect.NoError(t, s.Node(0).Pause())
			time.Sleep(4 * time.Second) // longer than a silent connection is kept
			expect.NoError(t, s.Node(0).Resume())
		}},
		{"primary restarted", primaryRestarted},
		{"standby killed", func(t *testing.T, s *Plain, w *writer) {
			expect.NoError(t, s.Node(2).Kill())
			w.more(t)
			expect.NoError(t, s.Restart(expect.Patiently(t), 2))
		}},
		{"both standbys killed", bothStandbysKilled},
		{"all killed", func(t *testing.T, s *Plain, w *writer) {
			for i := range s.Nodes() {
				expect.NoError(t, s.Node(i).Kill())
			}
			for _, i := range []int{1, 0, 2} {
				expect.NoError(t, s.Restart(expect.Patiently(t), i))
			}
		}},
	} {
		ok := t.Run(step.name, func(t *testing.T) {
			w := startWriter(t, s, i*1_000_000)
			w.more(t)
			step.run(t, s, w)
			w.more(t)
			w.end()
			checkRows(t, s, w)
		})
		if !ok {
			return // what comes next starts from a sound set
		}
	}
}

// primaryLost: the standbys serve reads, and none takes writes.
func primaryLost(t *testing.T, s *Plain, lose func() error) {
	expect.NoError(t, lose())
	expect.NoError(t, s.Restart(expect.Patiently(t), 1))
	for i := 1; i < 3; i++ {
		if got := query(t, s, i, "SELECT pg_is_in_recovery()::text"); got != "true" {
			t.Errorf("%s takes writes", s.Name(i))
		}
	}
	for what, ask := range map[string]func(context.Context) error{
		"a primary": func(ctx context.Context) error { _, err := s.Primary(ctx); return err }, "all in step": s.Settled,
	} {
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		if err := ask(short); err == nil {
			t.Errorf("%s without node 0", what)
		}
		cancel()
	}
	expect.NoError(t, s.Restart(expect.Patiently(t), 0))
}

func primaryRestarted(t *testing.T, s *Plain, _ *writer) {
	expect.NoError(t, s.Restart(expect.Patiently(t), 0, "PGDATESTYLE=German"))
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.Node(0).PID()))
	if err != nil || !strings.Contains(string(env), "PGDATESTYLE=German") {
		t.Errorf("the environment is not the one given (%v)", err)
	}
}

// bothStandbysKilled: no commit is acknowledged until a standby is back.
func bothStandbysKilled(t *testing.T, s *Plain, w *writer) {
	expect.NoError(t, s.Node(1).Kill())
	expect.NoError(t, s.Node(2).Kill())
	conn := connect(t, s.AddressOf(0))
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := conn.Exec(short, "INSERT INTO seen VALUES (-1)"); err == nil {
		t.Error("a commit is acknowledged that no standby has")
	}
	for _, i := range []int{1, 2} {
		expect.NoError(t, s.Restart(expect.Patiently(t), i))
	}
}

func TestPostgresSetAsynchronous(t *testing.T) {
	s := startPlain(t, PlainOptions{Placement: Placement{Nodes: 2}, Asynchronous: true})
	table(t, s)
	if got := query(t, s, 0, "SHOW synchronous_standby_names"); got != "" {
		t.Errorf("commits wait for %s", got)
	}
	w := startWriter(t, s, 0)
	w.more(t)
	expect.NoError(t, s.Node(1).Kill())
	w.more(t)
	w.end()
	expect.NoError(t, s.Restart(expect.Patiently(t), 1))
	checkRows(t, s, w)
}

// TestPostgresSetWithSettings: the user may choose the standbys for commits.
func TestPostgresSetWithSettings(t *testing.T) {
	s := startPlain(t, PlainOptions{Placement: Placement{Nodes: 2}, Settings: []string{"synchronous_standby_names=FIRST 1 (n2)", "synchronous_commit=remote_apply"}})
	for i := range s.Nodes() {
		for name, want := range map[string]string{"synchronous_standby_names": "FIRST 1 (n2)", "synchronous_commit": "remote_apply"} {
			if got, err := s.Parameter(t.Context(), i, name); err != nil || got != want {
				t.Errorf("%s of %s is %q, %v", name, s.Name(i), got, err)
			}
		}
	}
}
