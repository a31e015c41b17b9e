package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/bank"
)

// opened is a file and its Store, which keeps the last session's connection.
type opened struct {
	bank.Store
	below *lastFile
}

func openStore(t *testing.T, address string) *opened {
	t.Helper()
	f, err := open(store.Target{Address: address}, bank.Schema())
	expect.NoError(t, err)
	s := &lastFile{file: f}
	bankStore := bank.Over(s)
	expect.AtEnd(t, bankStore.Close)
	return &opened{bankStore, s}
}

type lastFile struct {
	*file
	last *connection
}

func (s *lastFile) Session(ctx context.Context, statements []store.Statement) (store.Session, error) {
	return sqldb.SessionOn(ctx, &s.sql, &s.kind, statements, func(ctx context.Context, texts []sqldb.Statement) (sqldb.Connection, error) {
		c, err := s.connect(ctx, texts)
		if err == nil {
			s.last = c.(*connection)
		}
		return c, err
	})
}

func load(t *testing.T, s bank.Store, n int64) *drivertest.Transfers {
	t.Helper()
	var accounts []bank.Account
	for id := int64(1); id <= n; id++ {
		accounts = append(accounts, bank.Account{ID: id, Balance: 1000})
	}
	err := errors.Join(s.Create(t.Context(), store.Marker{Run: "r", Workload: "bank", Created: time.Now(), Rows: n}),
		s.LoadAccounts(t.Context(), accounts), s.FinishLoad(t.Context()))
	expect.NoError(t, err)
	return drivertest.NewTransfers(accounts)
}

func openSession(t *testing.T, s bank.Store) *bank.Session {
	t.Helper()
	n, err := s.Session(t.Context())
	expect.NoError(t, err)
	t.Cleanup(n.Close)
	return n
}

type foreignFile struct {
	path    string
	content []byte
	changed time.Time
}

func (f *foreignFile) remember(t *testing.T) {
	t.Helper()
	t.Cleanup(func() { os.Remove(f.path) })
	var err error
	if f.content, err = os.ReadFile(f.path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(f.path)
	expect.NoError(t, err)
	f.changed = info.ModTime()
}

func (f *foreignFile) intact(t *testing.T) {
	t.Helper()
	content, err := os.ReadFile(f.path)
	if err != nil || string(content) != string(f.content) {
		t.Errorf("the foreign file was changed (%v)", err)
	}
	if info, err := os.Stat(f.path); err != nil || !info.ModTime().Equal(f.changed) {
		t.Errorf("the foreign file was written (%v)", err)
	}
	entries, err := os.ReadDir(filepath.Dir(f.path))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the foreign file: %v, %v", entries, err)
	}
}

// TestForeignFiles are refused, whatever they are.
func TestForeignFiles(t *testing.T) {
	ordinary := make([]byte, 5000)
	copy(ordinary, "SQLite format 4 is not a thing")
	// Our application id without a mark.
	without := func(t *testing.T, path string) {
		err := within(t.Context(), options{path: path}.dsn("rwc"), func(h *handle) error {
			return h.change(t.Context(), `PRAGMA application_id = 1098085241; CREATE TABLE precious (x INTEGER)`)
		})
		expect.NoError(t, err)
	}
	// WAL mode, whose log and index SQLite would make again.
	wal := func(t *testing.T, path string) {
		err := within(t.Context(), options{path: path}.dsn("rwc"), func(h *handle) error {
			return h.change(t.Context(), `PRAGMA journal_mode = wal; CREATE TABLE assay_mark (run TEXT);
			CREATE TABLE precious (x INTEGER); INSERT INTO precious VALUES (42)`)
		})
		expect.NoError(t, err)
	}
	write := func(content []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			expect.NoError(t, os.WriteFile(path, content, 0o644))
		}
	}
	for name, put := range map[string]func(*testing.T, string){
		"short text":   write([]byte("hello")),
		"one page":     write(ordinary),
		"without mark": without,
		"in WAL mode":  wal,
	} {
		t.Run(name, func(t *testing.T) {
			f := &foreignFile{path: filepath.Join(t.TempDir(), "x.db")}
			put(t, f.path)
			f.remember(t)
			s := openStore(t, "sqlite:"+f.path)
			refusesForeign(t, s)
			f.intact(t)
		})
	}
	t.Run("directory", func(t *testing.T) { refusesForeign(t, openStore(t, "sqlite:"+t.TempDir())) })
}

func refusesForeign(t *testing.T, s *opened) {
	t.Helper()
	_, finding := s.Find(t.Context())
	for name, err := range map[string]error{
		"Find": finding, "Create": s.Create(t.Context(), store.Marker{}), "Drop": s.Drop(t.Context()),
	} {
		var foreign *store.ForeignError
		if !errors.As(err, &foreign) {
			t.Errorf("%s: %v, want *store.ForeignError", name, err)
		}
	}
}

func TestEmptyFileIsOursToTake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "empty.db")
	expect.NoError(t, os.WriteFile(path, nil, 0o644))
	s := openStore(t, "sqlite:"+path)
	if remains, err := s.Find(t.Context()); remains != nil || err != nil {
		t.Errorf("Find: %+v, %v", remains, err)
	}
	load(t, s.Store, 3).Check(t.Context(), t, s.Store)
}

func TestSettingsAreThoseInForce(t *testing.T) {
	for parameters, want := range map[string][2]string{
		"":                                     {"wal", "full"},
		"?journal=delete&synchronous=extra":    {"delete", "extra"},
		"?journal=truncate&synchronous=normal": {"truncate", "normal"},
	} {
		s := openStore(t, "sqlite:"+filepath.Join(t.TempDir(), "x.db")+parameters)
		load(t, s.Store, 2)
		openSession(t, s.Store)
		var journal, synchronous string
		r := s.below.last.handle
		err := errors.Join(r.Query(t.Context(), "PRAGMA journal_mode", func(row store.Row) error { return row.Scan(&journal) }),
			r.Query(t.Context(), "PRAGMA synchronous", func(row store.Row) error { return row.Scan(&synchronous) }))
		level := map[string]string{"0": "off", "1": "normal", "2": "full", "3": "extra"}[synchronous]
		if err != nil || journal != want[0] || level != want[1] {
			t.Errorf("%s: journal %s, synchronous %s, %v", parameters, journal, level, err)
		}
		product, err := s.Describe(t.Context())
		if err != nil || !product.Embedded {
			t.Errorf("Describe: %+v, %v", product, err)
		}
		told := func(name string) string { return drivertest.Value(product.Settings, name) }
		if told("journal_mode") != want[0] || told("synchronous") != want[1] || told("isolation") != "serializable" {
			t.Errorf("%s: told %v", parameters, product.Settings)
		}
	}
}

// TestLookAtShortFile: a file shorter than its header says, as after a full disk during a
// checkpoint, is still known as ours.
func TestLookAtShortFile(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "x.db")
	load(t, openStore(t, "sqlite:"+whole).Store, 1000)
	content, err := os.ReadFile(whole)
	if err != nil || len(content) < 3*4096 {
		t.Fatalf("%d bytes, %v", len(content), err)
	}
	short := filepath.Join(t.TempDir(), "short.db")
	expect.NoError(t, os.WriteFile(short, content[:4096], 0o644))
	if ours, err := openStore(t, "sqlite:"+short).below.look(t.Context()); !ours || err != nil {
		t.Errorf("ours %v, %v", ours, err)
	}
}

func TestMissingDirectory(t *testing.T) {
	s := openStore(t, "sqlite:"+filepath.Join(t.TempDir(), "no", "x.db"))
	if err := s.Create(t.Context(), store.Marker{}); err == nil {
		t.Error("Create in a directory that does not exist gave no error")
	}
	if remains, err := s.Find(t.Context()); remains != nil || err != nil {
		t.Errorf("Find: %+v, %v", remains, err)
	}
}

// TestAnotherConnectionHoldsUp: with SQLite's write lock, or with a rollback journal a read, COMMIT
// fails with SQLITE_BUSY and leaves nothing.
func TestAnotherConnectionHoldsUp(t *testing.T) {
	for journal, holds := range map[string]string{"wal": "BEGIN IMMEDIATE", "delete": "BEGIN; SELECT * FROM assay_account"} {
		address := "sqlite:" + filepath.Join(t.TempDir(), "x.db") + "?journal=" + journal
		s, other := openStore(t, address), openStore(t, address)
		s.below.lockTimeout = 50 * time.Millisecond
		ledger := load(t, other.Store, 2)
		n := openSession(t, s.Store)
		openSession(t, other.Store)
		expect.NoError(t, other.below.last.handle.change(t.Context(), holds))
		tr := bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 10}
		r := n.Transfer(t.Context(), tr)
		ledger.Record(tr, r)
		if r.Outcome != history.Failed || r.Class != store.ClassLockTimeout || r.Broken {
			t.Errorf("%s: meanwhile %+v, want a lock timeout", holds, r)
		}
		expect.NoError(t, other.below.last.handle.change(t.Context(), "COMMIT"))
		r = n.Transfer(t.Context(), tr)
		ledger.Record(tr, r)
		if r.Outcome != history.Committed {
			t.Errorf("%s: afterwards %+v, want committed", holds, r)
		}
		ledger.Check(t.Context(), t, s.Store)
	}
}

// TestCallerLeaves: a caller whose context ends gets an answer, which holds. Settle waits for its
// stuck transaction.
func TestCallerLeaves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	address := "sqlite:" + path + "?journal=delete"
	s, other := openStore(t, address), openStore(t, address)
	ledger := load(t, other.Store, 2)
	n := openSession(t, s.Store)
	openSession(t, other.Store)
	expect.NoError(t, other.below.last.handle.change(t.Context(), "BEGIN; SELECT * FROM assay_account"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	tr := bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 10}
	r := n.Transfer(ctx, tr) // COMMIT waits for the reader
	ledger.Record(tr, r)
	if r.Outcome != history.Unknown || !r.Broken || r.Class != store.ClassTimeout {
		t.Errorf("the caller left during COMMIT: %+v, want unknown", r)
	}
	if again := n.Transfer(t.Context(), tr); again.Outcome != history.Failed || !again.Broken {
		t.Errorf("an abandoned session: %+v", again)
	}
	over, cancelOver := context.WithCancel(t.Context())
	cancelOver()
	if err := s.Settle(over); !errors.Is(err, context.Canceled) {
		t.Errorf("Settle while a transaction is in flight: %v", err)
	}
	expect.NoError(t, other.below.last.handle.change(t.Context(), "COMMIT"))
	ledger.Check(t.Context(), t, s.Store)
}

// TestDiskFull reaches SQLite's limit of pages, which looks like a full disk.
func TestDiskFull(t *testing.T) {
	s := openStore(t, "sqlite:"+filepath.Join(t.TempDir(), "x.db"))
	ledger := load(t, s.Store, 2)
	n := openSession(t, s.Store)
	if err := s.below.last.handle.change(t.Context(), "PRAGMA max_page_count = 1"); err != nil { // it stays at what there is
		t.Fatal(err)
	}
	for id := int64(1); id < 100_000; id++ {
		tr := bank.Transfer{ID: id, Source: 1 + id%2, Destination: 2 - id%2, Amount: 1}
		r := n.Transfer(t.Context(), tr)
		ledger.Record(tr, r)
		if r.Outcome == history.Committed {
			continue
		}
		if r.Outcome != history.Failed || r.Class != classDiskFull {
			t.Errorf("%+v, want a full disk", r)
		}
		ledger.Check(t.Context(), t, s.Store)
		return
	}
	t.Error("the disk never filled")
}

// TestDropInUse keeps a file that another connection uses.
func TestDropInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	s, other := openStore(t, "sqlite:"+path), openStore(t, "sqlite:"+path)
	s.below.lockTimeout = 50 * time.Millisecond
	ledger := load(t, other.Store, 2)
	n := openSession(t, other.Store)
	tr := bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 10}
	ledger.Record(tr, n.Transfer(t.Context(), tr))
	if err := s.Drop(t.Context()); err == nil {
		t.Error("Drop of a file in use gave no error")
	}
	tr.ID++
	r := n.Transfer(t.Context(), tr)
	ledger.Record(tr, r)
	if r.Outcome != history.Committed {
		t.Errorf("after a refused Drop: %+v", r)
	}
	ledger.Check(t.Context(), t, s.Store)
	n.Close()
	if err := s.Drop(t.Context()); err != nil {
		t.Errorf("Drop once it is free: %v", err)
	}
}
