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

	"assay/catalog"
	"assay/history"
	"assay/serve"
	"assay/workload"
	"assay/workload/entity"
	"assay/workload/keyvalue"
)

// What this program is started as by a cluster of SQLite.
const (
	serveHonest = "serve"
	serveLying  = "serve-lying"
)

// serveStore is assay serve, with its flags, on SQLite or on a store that lies.
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
	opened, err := driver.Support(entity.Name).Open(ctx, workload.Target{Address: *address})
	if err != nil {
		return err
	}
	store := opened.(keyvalue.Store)
	if lying {
		if store, err = openLying(store, strings.TrimPrefix(*address, "sqlite:")+"-unsynced"); err != nil {
			return err
		}
	}
	service, err := serve.New(ctx, store, o)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	return service.Serve(ctx, listener)
}

// One insert in lieEvery is not synced, beginning with the number lieFirst.
const (
	lieEvery = 1000
	lieFirst = 20
)

// lyingStore writes one insert in a thousand to a file that it never syncs, and
// acknowledges it.
type lyingStore struct {
	keyvalue.Store
	path string

	mu       sync.Mutex
	inserts  int
	unsynced map[keyvalue.Value]keyvalue.Record
}

// openLying finds what was not synced and is there all the same.
func openLying(store keyvalue.Store, path string) (*lyingStore, error) {
	l := &lyingStore{Store: store, path: path, unsynced: map[keyvalue.Value]keyvalue.Record{}}
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
			l.unsynced[e.Record().Key] = e.Record()
		}
	}
	return l, lines.Err()
}

func (l *lyingStore) Create(ctx context.Context, mark workload.Marker) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inserts, l.unsynced = 0, map[keyvalue.Value]keyvalue.Record{}
	if err := os.Remove(l.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return l.Store.Create(ctx, mark)
}

func (l *lyingStore) Session(ctx context.Context) (keyvalue.Session, error) {
	s, err := l.Store.Session(ctx)
	return &lyingSession{s, l}, err
}

func (l *lyingStore) Read(ctx context.Context, use func(keyvalue.Record) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, record := range l.unsynced {
		if err := use(record); err != nil {
			return err
		}
	}
	return l.Store.Read(ctx, use)
}

// keep writes the record if it is one to lie about.
func (l *lyingStore) keep(record keyvalue.Record) (kept bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inserts++
	if l.inserts%lieEvery != lieFirst {
		return false, nil
	}
	text, err := json.Marshal(entity.FromRecord(record))
	if err != nil {
		return false, err
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return false, err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		l.unsynced[record.Key] = record
	}
	return err == nil, err
}

// lyingSession is a session of a lyingStore.
type lyingSession struct {
	keyvalue.Session
	store *lyingStore
}

func (s *lyingSession) Insert(ctx context.Context, record keyvalue.Record) keyvalue.Reply {
	kept, err := s.store.keep(record)
	switch {
	case err != nil:
		return keyvalue.Reply{Reply: workload.Reply{Class: "disk", Err: err}}
	case kept:
		return keyvalue.Reply{Reply: workload.Reply{Outcome: history.Committed}}
	}
	return s.Session.Insert(ctx, record)
}

func (s *lyingSession) Get(ctx context.Context, key keyvalue.Value) keyvalue.Reply {
	s.store.mu.Lock()
	record, kept := s.store.unsynced[key]
	s.store.mu.Unlock()
	if kept {
		return keyvalue.Reply{Reply: workload.Reply{Outcome: history.Committed}, Record: record, Found: true}
	}
	return s.Session.Get(ctx, key)
}
