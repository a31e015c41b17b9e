package mysql

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/google/uuid"

	"assay/driver/sqldb"
	"assay/workload"
	"assay/workload/entity"
)

// entitySchema is the database of workload entity.
const entitySchema = schemaPrefix + "entity"

const entityColumns = "id, name, age, description, address, phone, email"

// entityKind is what is kept of an entity. MySQL counts characters.
func entityKind() sqldb.Schema {
	return sqldb.Schema{Workload: "entity", Tables: []sqldb.Table{{Name: "entity", Columns: []sqldb.Column{
		{Name: "id", Type: sqldb.UUID}, {Name: "name", Type: sqldb.String, Length: entity.MaxName}, {Name: "age"},
		{Name: "description", Type: sqldb.String, Length: entity.MaxDescription}, {Name: "address", Type: sqldb.String, Length: entity.MaxAddress},
		{Name: "phone", Type: sqldb.String, Length: entity.MaxPhone}, {Name: "email", Type: sqldb.String, Length: entity.MaxEmail},
	}}}}
}

// entityStore implements entity.Store.
type entityStore struct{ *schema }

// OpenEntity connects to the target and returns the Store on it, in the
// database assay_entity. Errors and the address are as with OpenBank.
func OpenEntity(ctx context.Context, target workload.Target) (entity.Store, error) {
	p, err := openSchema(ctx, target, entityKind())
	if err != nil {
		return nil, err
	}
	return &entityStore{p}, nil
}

// Promise implements entity.Promising, on the grounds on which
// availabilityStore.Promise does.
func (s *entityStore) Promise() string {
	if s.server.galera && s.server.syncWait || !s.server.galera && len(s.hosts) == 1 {
		return entity.PromiseLinearizable
	}
	return ""
}

// Read implements entity.Store.
func (s *entityStore) Read(ctx context.Context, each func(entity.Entity) error) error {
	return s.view(ctx, nil, func(c *conn) error {
		return c.query(ctx, func(values []driver.Value) error {
			e, err := entityOf(values)
			if err != nil {
				return err
			}
			return stopped(each(e))
		}, `SELECT `+entityColumns+` FROM `+entitySchema+`.entity`)
	})
}

// entityOf reads a row of entityColumns.
func entityOf(row []driver.Value) (e entity.Entity, err error) {
	if len(row) != 7 {
		return e, fmt.Errorf("a row of %d columns came that is no entity", len(row))
	}
	if e.ID, err = uuid.FromBytes([]byte(text(row[0]))); err != nil {
		return e, err
	}
	age, err := number(row[2])
	e.Age = int(age)
	e.Name, e.Description, e.Address, e.Phone, e.Email = text(row[1]), text(row[3]), text(row[4]), text(row[5]), text(row[6])
	return e, err
}

// entitySession implements entity.Session on one connection.
type entitySession struct{ *session }

// Session implements entity.Store.
func (s *entityStore) Session(ctx context.Context) (entity.Session, error) {
	l, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	return &entitySession{l}, nil
}

// Put implements entity.Session: one statement, committed by itself.
func (s *entitySession) Put(ctx context.Context, e entity.Entity) entity.Reply {
	if err := ctx.Err(); err != nil { // nothing is sent
		return entity.Reply{Reply: s.unsent(err)}
	}
	return entity.Reply{Reply: s.insertedOne(s.exec(ctx, `INSERT INTO `+entitySchema+`.entity (`+entityColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		e.ID[:], e.Name, int64(e.Age), e.Description, e.Address, e.Phone, e.Email))}
}

// Get implements entity.Session. A read has no effect, so that one without an
// answer has failed.
func (s *entitySession) Get(ctx context.Context, id uuid.UUID) entity.Reply {
	if err := ctx.Err(); err != nil {
		return entity.Reply{Reply: s.unsent(err)}
	}
	var reply entity.Reply
	err := s.query(ctx, func(values []driver.Value) (err error) {
		reply.Found = true
		reply.Entity, err = entityOf(values)
		return err
	}, `SELECT `+entityColumns+` FROM `+entitySchema+`.entity WHERE id = ?`, id[:])
	if err != nil {
		return entity.Reply{Reply: s.queried(err)}
	}
	reply.Reply = s.queried(nil)
	return reply
}
