package postgres

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

	"assay/internal/expect"
)

// announced keeps what a set announces.
type announced struct {
	mu    sync.Mutex
	lines []string
}

func (a *announced) add(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lines = append(a.lines, text)
}

// forget begins anew.
func (a *announced) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lines = nil
}

func (a *announced) has(parts ...string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.lines, func(line string) bool {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				return false
			}
		}
		return true
	})
}

func (a *announced) await(t *testing.T, parts ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("announced: %q", parts), func() bool { return a.has(parts...) })
}

// startSet starts a set that promotes soon and tells what it does. A primary that
// is starved by other tests is not to be taken for a lost one.
func startSet(t *testing.T, o SetOptions) (*Set, *announced) {
	t.Helper()
	events := new(announced)
	began := time.Now()
	o.Announce = func(text string) {
		events.add(text)
		t.Logf("%6.2f s: %s", time.Since(began).Seconds(), text)
	}
	if o.FailoverAfter == 0 {
		o.FailoverAfter = 4 * time.Second
	}
	if o.LogDir == "" {
		o.LogDir = t.TempDir()
	}
	s, err := StartSet(bounded(t), o)
	expect.NoError(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		checkSharedMemory(t, o.LogDir, began)
	})
	return s, events
}

// checkSharedMemory asserts that no process which wrote to one of the logs left
// a segment of shared memory.
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
		// A process id may have been another server's before.
		if made, err := strconv.ParseInt(fields[13], 10, 64); err == nil && made >= began.Unix() {
			t.Errorf("process %s left a segment of shared memory", fields[4])
		}
	}
}

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func primaryOf(t *testing.T, s *Set) int {
	t.Helper()
	i, err := s.Primary(bounded(t))
	expect.NoError(t, err)
	return i
}

// writer inserts numbers through the set's address, one transaction each, and
// notes which were acknowledged.
type writer struct {
	stop         chan struct{}
	done         chan struct{}
	mu           sync.Mutex
	acknowledged []int
}

func startWriter(t *testing.T, s *Set, from int) *writer {
	t.Helper()
	w := &writer{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		var conn *pgx.Conn
		for n := from; ; n++ {
			select {
			case <-w.stop:
				if conn != nil {
					closeSession(conn)
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

func (w *writer) write(s *Set, conn *pgx.Conn, n int) *pgx.Conn {
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
		closeSession(conn)
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

// more waits until some more writes are acknowledged.
func (w *writer) more(t *testing.T) {
	t.Helper()
	before := w.count()
	eventually(t, "more writes are acknowledged", func() bool { return w.count() >= before+20 })
}

func (w *writer) end() {
	select {
	case <-w.stop:
	default:
		close(w.stop)
	}
	<-w.done
}

// seenBy returns the rows of node i.
func seenBy(t *testing.T, s *Set, i int) []int {
	t.Helper()
	rows, err := connect(t, s.nodes[i].Server).Query(t.Context(), "SELECT n FROM seen ORDER BY n")
	expect.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[int])
	expect.NoError(t, err)
	return all
}

// checkRows asserts that every acknowledged row is there, once, and that all
// nodes hold the same.
func checkRows(t *testing.T, s *Set, writers ...*writer) {
	t.Helper()
	expect.NoError(t, s.Settled(bounded(t)))
	rows := seenBy(t, s, primaryOf(t, s))
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
			t.Errorf("%s holds other rows than the primary", s.nodeName(i))
		}
	}
}

// table makes the table of the test through the set's address.
func table(t *testing.T, s *Set) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.Address())
	expect.NoError(t, err)
	defer closeSession(conn)
	execute(t, conn, "CREATE TABLE seen (n integer)")
}

func TestPostgresSetOfTwo(t *testing.T) {
	s, events := startSet(t, SetOptions{Nodes: 2})
	table(t, s)
	w := startWriter(t, s, 0)
	w.more(t)
	expect.NoError(t, s.Node(0).Kill())
	events.await(t, "n2 is promoted", "commits wait for nobody")
	w.more(t)
	expect.NoError(t, s.Restart(bounded(t), 0))
	events.await(t, "n1 streams: commits wait for n1")
	expect.NoError(t, s.Settled(bounded(t)))
	expect.NoError(t, s.Node(0).Kill())
	events.await(t, "n1 has not streamed", "commits wait for nobody")
	w.more(t)

	// Now the primary alone has the last commits.
	expect.NoError(t, s.Node(1).Kill())
	expect.NoError(t, s.Restart(bounded(t), 0))
	events.await(t, "nobody is promoted: only n2 is certain")
	expect.NoError(t, s.Restart(bounded(t), 1))
	events.await(t, "n2 is back, and is the primary again")
	w.more(t)
	w.end()
	checkRows(t, s, w)
}

func TestPostgresSetRestartInOrderKeepsThePrimary(t *testing.T) {
	s, events := startSet(t, SetOptions{Nodes: 2, FailoverAfter: 20 * time.Second})
	table(t, s)
	expect.NoError(t, s.Restart(bounded(t), 0, "PGDATESTYLE=German"))
	if i := primaryOf(t, s); i != 0 || events.has("promoted") {
		t.Errorf("%d is the primary", i)
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.Node(0).PID()))
	if err != nil || !strings.Contains(string(env), "PGDATESTYLE=German") {
		t.Errorf("the environment is not the one given (%v)", err)
	}
	w := startWriter(t, s, 0)
	w.more(t)
	expect.NoError(t, s.Restart(bounded(t), 1))
	expect.NoError(t, s.Node(0).Pause()) // slow, and not lost
	time.Sleep(time.Second)
	expect.NoError(t, s.Node(0).Resume())
	w.more(t)
	if events.has("does not answer") {
		t.Error("a slow primary was given up")
	}
	w.end()
	checkRows(t, s, w)
}
