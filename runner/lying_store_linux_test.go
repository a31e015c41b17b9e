package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net"
	"os"
	"strings"
	"sync"

	"github.com/google/uuid"

	"assay/history"
	"assay/runner/catalog"
	"assay/runner/serve"
	"assay/store"
	"assay/workload/entity"
	"assay/workload/keyvalue"
)

// Names under which a cluster of SQLite starts this program.
const (
	serveHonest = "serve"
	serveLying  = "serve-lying"
)

// serveStore is assay serve on SQLite or on a store that lies.
func serveStore(lying bool, args []string) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	address, listen := flags.String("db", "", ""), flags.String("listen", "", "")
	o := serve.DefaultOptions()
	o.Version = "test"
	flags.BoolVar(&o.AllowReset, "allow-reset", false, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx := context.Background()
	driver, err := catalog.DriverFor(*address)
	if err != nil {
		return err
	}
	opened, err := driver.Support(entity.Name).Open(ctx, store.Target{Address: *address})
	if err != nil {
		return err
	}
	db := opened
	if lying {
		if db, err = openLying(db, strings.TrimPrefix(*address, "sqlite:")+"-unsynced"); err != nil {
			return err
		}
	}
	service, err := serve.New(ctx, db, o)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	return service.Serve(ctx, listener)
}

// Each lieEvery-th insert is not synced, beginning with number lieFirst.
const (
	lieEvery = 1000
	lieFirst = 20
)

// lyingStore acknowledges one insert in a thousand from a file that it never syncs.
type lyingStore struct {
	store.Database
	path string

	mu       sync.Mutex
	inserts  int
	unsynced map[uuid.UUID]entity.Entity
}

// openLying also reads what survived without a sync.
func openLying(db store.Database, path string) (*lyingStore, error) {
	l := &lyingStore{Database: db, path: path, unsynced: map[uuid.UUID]entity.Entity{}}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var e entity.Entity
		if err := json.Unmarshal(lines.Bytes(), &e); err == nil { // else it was torn
			l.unsynced[e.ID] = e
		}
	}
	return l, lines.Err()
}

func (l *lyingStore) Create(ctx context.Context, mark store.Marker) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inserts, l.unsynced = 0, map[uuid.UUID]entity.Entity{}
	if err := os.Remove(l.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return l.Database.Create(ctx, mark)
}

func (l *lyingStore) Session(ctx context.Context, statements []store.Statement) (store.Session, error) {
	s, err := l.Database.Session(ctx, statements)
	return &lyingSession{s, l}, err
}

func (l *lyingStore) View(ctx context.Context, read func(store.Reader) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Database.View(ctx, func(r store.Reader) error { return read(&lyingReader{r, l}) })
}

// keep writes a row's entity if it is one to lie about.
func (l *lyingStore) keep(row store.Row) (kept bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inserts++
	if l.inserts%lieEvery != lieFirst {
		return false, nil
	}
	e, err := entity.Of(row)
	if err != nil {
		return false, err
	}
	text, err := json.Marshal(e)
	if err != nil {
		return false, err
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return false, err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		l.unsynced[e.ID] = e
	}
	return err == nil, err
}

type lyingReader struct {
	store.Reader
	of *lyingStore
}

func (r *lyingReader) Read(ctx context.Context, s store.Statement, row func(store.Row) error, parameters ...store.Value) error {
	if s.Verb == store.Count {
		return r.Reader.Read(ctx, s, func(counted store.Row) error {
			var n int64
			err := counted.Scan(&n)
			return errors.Join(err, row(store.Values(store.OfInts(n+int64(len(r.of.unsynced))))))
		}, parameters...)
	}
	for _, e := range r.of.unsynced {
		if err := row(store.Values(e.Values())); err != nil {
			return err
		}
	}
	return r.Reader.Read(ctx, s, row, parameters...)
}

type lyingSession struct {
	store.Session
	of *lyingStore
}

func (s *lyingSession) Run(ctx context.Context, call store.Call) store.Reply {
	done := store.Reply{Outcome: history.Committed}
	if call.Statement == keyvalue.Insert {
		kept, err := s.of.keep(store.Values(call.Parameters))
		switch {
		case err != nil:
			return store.Reply{Class: "disk", Err: err}
		case kept:
			return done
		}
		return s.Session.Run(ctx, call)
	}
	s.of.mu.Lock()
	e, kept := s.of.unsynced[uuid.UUID(call.Parameters[0].Bytes)]
	s.of.mu.Unlock()
	if kept {
		done.Err = call.Row(store.Values(e.Values()))
		return done
	}
	return s.Session.Run(ctx, call)
}
