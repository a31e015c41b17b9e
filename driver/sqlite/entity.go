package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"assay/history"
	"assay/workload"
	"assay/workload/entity"
)

// The id is the primary key itself: ids come in no order, and a table without
// rowid needs no second tree for them.
const entitySchema = `
CREATE TABLE assay_entity (
	id BLOB PRIMARY KEY, name TEXT NOT NULL, age INTEGER NOT NULL, description TEXT NOT NULL,
	address TEXT NOT NULL, phone TEXT NOT NULL, email TEXT NOT NULL
) STRICT, WITHOUT ROWID;`

// entityStore is an entity.Store on one file.
type entityStore struct{ *file }

// OpenEntity returns the Store of the file that target.Address names, which
// must not hold another workload's run. Address and errors are as with
// OpenBank.
func OpenEntity(_ context.Context, target workload.Target) (entity.Store, error) {
	o, err := parse(target)
	if err != nil {
		return nil, err
	}
	return &entityStore{newFile(o, file{
		tables: []string{"assay_entity"}, schema: entitySchema, begin: "begin immediate; begin, if it only reads",
	})}, nil
}

// Promise implements entity.Promising, on the grounds on which
// isolationStore.Promise does.
func (s *entityStore) Promise() string { return entity.PromiseLinearizable }

// Read implements entity.Store.
func (s *entityStore) Read(ctx context.Context, each func(entity.Entity) error) error {
	return s.view(ctx, func(tx *sql.Tx) error {
		return eachEntity(ctx, tx, each)
	})
}

func eachEntity(ctx context.Context, tx *sql.Tx, use func(entity.Entity) error) error {
	return each(ctx, tx, "SELECT id, name, age, description, address, phone, email FROM assay_entity", func(rows *sql.Rows) error {
		var (
			e  entity.Entity
			id []byte
		)
		err := rows.Scan(&id, &e.Name, &e.Age, &e.Description, &e.Address, &e.Phone, &e.Email)
		if err == nil {
			e.ID, err = uuid.FromBytes(id)
		}
		if err != nil {
			return fmt.Errorf("an entity that cannot be read: %w", err)
		}
		return stopped(use(e))
	})
}

// entitySession is one client's of workload entity.
type entitySession struct {
	*connection
	put, get *sql.Stmt
}

// Session implements entity.Store.
func (s *entityStore) Session(ctx context.Context) (entity.Session, error) {
	l, err := s.dial(ctx, "INSERT INTO assay_entity (id, name, age, description, address, phone, email) VALUES (?, ?, ?, ?, ?, ?, ?)",
		"SELECT name, age, description, address, phone, email FROM assay_entity WHERE id = ?")
	if err != nil {
		return nil, err
	}
	return &entitySession{connection: l, put: l.statements[0], get: l.statements[1]}, nil
}

// Put implements entity.Session.
func (n *entitySession) Put(ctx context.Context, e entity.Entity) entity.Reply {
	return entity.Reply{Reply: n.insertOne(ctx, "put", n.put, e.ID[:], e.Name, e.Age, e.Description, e.Address, e.Phone, e.Email)}
}

// Get implements entity.Session. The transaction keeps what it found to itself
// until it has ended, since it may go on after the caller has left.
func (n *entitySession) Get(ctx context.Context, id uuid.UUID) entity.Reply {
	e := entity.Entity{ID: id}
	var found bool
	end := n.do(ctx, &run{doing: "get", work: func(ctx context.Context) (bool, error) {
		err := n.get.QueryRowContext(ctx, id[:]).Scan(&e.Name, &e.Age, &e.Description, &e.Address, &e.Phone, &e.Email)
		if errors.Is(err, sql.ErrNoRows) {
			return true, nil
		}
		found = err == nil
		return true, err
	}})
	reply := entity.Reply{Reply: end.read()}
	if reply.Outcome == history.Committed && found {
		reply.Found, reply.Entity = true, e
	}
	return reply
}
