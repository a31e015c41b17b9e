package cassandra

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"

	"assay/history"
	"assay/workload"
	"assay/workload/entity"
)

const (
	entityTable    = "assay_entity"
	entityKeyspace = "assay_entity"
	entityFields   = "id, name, age, description, address, phone, email"
)

// entityStore is an entity.Store on one keyspace.
type entityStore struct {
	*keyspace
	put, get string
	// unsure is when a write last ended without an answer, in nanoseconds since
	// 1970; 0 for never.
	unsure atomic.Int64
}

// OpenEntity connects to the cluster that target.Address names, as with
// OpenAvailability, and returns the Store of its keyspace, "assay_entity"
// unless another is named. Writes and reads have the consistency of the
// address. An entity is written by an ordinary INSERT, which replaces one of
// its id.
func OpenEntity(ctx context.Context, target workload.Target) (entity.Store, error) {
	s, err := parse(target)
	if err != nil {
		return nil, err
	}
	return openEntity(ctx, s, target.Address)
}

func openEntity(ctx context.Context, s *settings, address string) (entity.Store, error) {
	place, _, _ := strings.Cut(strings.TrimPrefix(address, "cassandra://"), "?")
	if _, named, _ := strings.Cut(place, "/"); named == "" {
		s.keyspace = entityKeyspace
	}
	c, err := connect(ctx, s)
	if err != nil {
		return nil, err
	}
	k := &keyspace{connection: c, name: s.keyspace, tables: []table{{entityTable,
		"id uuid PRIMARY KEY, name text, age int, description text, address text, phone text, email text"}}}
	return &entityStore{
		keyspace: k,
		put:      fmt.Sprintf("INSERT INTO %s (%s) VALUES (?, ?, ?, ?, ?, ?, ?)", k.full(entityTable), entityFields),
		get:      fmt.Sprintf("SELECT name, age, description, address, phone, email FROM %s WHERE id = ?", k.full(entityTable)),
	}, nil
}

// Promise implements entity.Promising, on the grounds on which
// availabilityStore.Promise does.
func (s *entityStore) Promise() string {
	if s.quorums() {
		return entity.PromiseLinearizable
	}
	return ""
}

// Find implements entity.Store.
func (s *entityStore) Find(ctx context.Context) (*workload.Leftover, error) {
	m, err := s.mark(ctx)
	if m == nil || err != nil {
		return nil, err
	}
	rows, err := s.countEntities(ctx)
	if err != nil {
		return nil, err
	}
	return &workload.Leftover{Marker: *m, Rows: rows}, nil
}

// Settle implements entity.Store, as availabilityStore.Settle does for its
// rows.
func (s *entityStore) Settle(ctx context.Context) error {
	if at := s.unsure.Load(); at != 0 {
		limit := defaultWriteTimeout
		if told, err := time.ParseDuration(s.settingsOf(ctx)["write_request_timeout"]); err == nil {
			limit = told
		}
		if err := pause(ctx, time.Until(time.Unix(0, at).Add(limit))); err != nil {
			return failed("settle", err)
		}
	}
	for {
		var age int
		err := s.session.Query("SELECT age FROM "+s.full(entityTable)+" WHERE id = ?", gocql.UUID{}).
			Consistency(s.consistency).ScanContext(ctx, &age)
		if err == nil || errors.Is(err, gocql.ErrNotFound) || classOf(err) == classRefused {
			return nil
		}
		if stopped := pause(ctx, pagePause/4); stopped != nil {
			return failed("settle", errors.Join(stopped, err))
		}
	}
}

// Size implements entity.Store; see keyspace.Size.
func (s *entityStore) Size(ctx context.Context) (workload.Size, error) {
	if err := s.mustMark(ctx); err != nil {
		return workload.Size{}, err
	}
	n, err := s.countEntities(ctx)
	if err != nil {
		return workload.Size{}, err
	}
	if n > 0 && s.allUp() {
		if err := s.flush(ctx, entityTable); err != nil {
			return workload.Size{}, err
		}
	}
	used, _, err := s.diskUsage(ctx, entityTable)
	if err != nil {
		return workload.Size{}, err
	}
	return workload.Size{Bytes: used, Tables: used, Rows: map[string]int64{entityTable: n}}, nil
}

func (s *entityStore) countEntities(ctx context.Context) (n int64, err error) {
	err = s.eachEntity(ctx, "count the entities", func(entity.Entity) error { n++; return nil })
	return n, err
}

// Read implements entity.Store; see scan for what is seen.
func (s *entityStore) Read(ctx context.Context, each func(entity.Entity) error) error {
	if err := s.mustMark(ctx); err != nil {
		return err
	}
	return s.eachEntity(ctx, "read the entities", each)
}

// eachEntity is scan for entities: by pages, with consistency ALL while all
// replicas answer, and else with QUORUM.
func (s *entityStore) eachEntity(ctx context.Context, doing string, each func(entity.Entity) error) error {
	var state []byte
	level := gocql.All
	for {
		page, next, err := s.entityPage(ctx, state, level)
		if err != nil && level == gocql.All && ctx.Err() == nil {
			level = gocql.Quorum
			page, next, err = s.entityPage(ctx, state, level)
		}
		if err != nil {
			return failed(doing, err)
		}
		for _, e := range page {
			if err := each(e); err != nil {
				return err
			}
		}
		if len(next) == 0 {
			return nil
		}
		state = next
	}
}

// entityPage reads the page that begins at state.
func (s *entityStore) entityPage(ctx context.Context, state []byte, level gocql.Consistency) (page []entity.Entity, next []byte, err error) {
	for try := range pageTries {
		if try > 0 {
			if stopped := pause(ctx, pagePause); stopped != nil {
				return nil, nil, errors.Join(stopped, err)
			}
		}
		iter := s.session.Query("SELECT " + entityFields + " FROM " + s.full(entityTable)).
			Consistency(level).PageSize(pageSize).PageState(state).IterContext(ctx)
		page, next = page[:0], iter.PageState()
		for range iter.NumRows() {
			var (
				e  entity.Entity
				id gocql.UUID
			)
			if !iter.Scan(&id, &e.Name, &e.Age, &e.Description, &e.Address, &e.Phone, &e.Email) {
				break
			}
			e.ID = uuid.UUID(id)
			page = append(page, e)
		}
		if err = iter.Close(); err == nil {
			return page, next, nil
		}
		if ctx.Err() != nil || classOf(err) == classRefused {
			break
		}
	}
	return nil, nil, err
}

// entitySession is one client's. It has nothing of its own, since all share the
// connections.
type entitySession struct{ store *entityStore }

// Session implements entity.Store.
func (s *entityStore) Session(context.Context) (entity.Session, error) {
	return &entitySession{store: s}, nil
}

// Put implements entity.Session.
func (n *entitySession) Put(ctx context.Context, e entity.Entity) entity.Reply {
	s := n.store
	ctx, sent := watching(ctx)
	err := s.session.Query(s.put, gocql.UUID(e.ID), e.Name, e.Age, e.Description, e.Address, e.Phone, e.Email).
		Consistency(s.consistency).ExecContext(ctx)
	reply := written(err, sent.begun.Load())
	if reply.Outcome == history.Unknown {
		s.unsure.Store(time.Now().UnixNano())
	}
	return entity.Reply{Reply: reply}
}

// Get implements entity.Session.
func (n *entitySession) Get(ctx context.Context, id uuid.UUID) entity.Reply {
	s := n.store
	e := entity.Entity{ID: id}
	err := s.session.Query(s.get, gocql.UUID(id)).Consistency(s.reads).
		ScanContext(ctx, &e.Name, &e.Age, &e.Description, &e.Address, &e.Phone, &e.Email)
	switch {
	case err == nil:
		return entity.Reply{Reply: workload.Reply{Outcome: history.Committed}, Found: true, Entity: e}
	case errors.Is(err, gocql.ErrNotFound):
		return entity.Reply{Reply: workload.Reply{Outcome: history.Committed}}
	}
	return entity.Reply{Reply: unread(err)}
}

// Close implements entity.Session.
func (n *entitySession) Close() {}
