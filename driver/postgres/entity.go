package postgres

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"assay/driver/sqldb"
	"assay/history"
	"assay/workload"
	"assay/workload/entity"
)

// entitySchema is the place of workload entity in the database.
const entitySchema = "assay_entity"

const entityColumns = "id, name, age, description, address, phone, email"

// entityStore implements entity.Store.
type entityStore struct {
	*schema
}

// OpenEntity connects to the target and returns the Store on it, in the schema
// assay_entity of the address's database. Errors are as with OpenBank.
func OpenEntity(ctx context.Context, target workload.Target) (entity.Store, error) {
	p, err := openSchema(ctx, target, sqldb.Schema{Workload: "entity", Transactions: true})
	if err != nil {
		return nil, err
	}
	return &entityStore{p}, nil
}

// Promise implements entity.Promising; see current.
func (s *entityStore) Promise() string {
	if s.current() {
		return entity.PromiseLinearizable
	}
	return ""
}

// Find implements entity.Store.
func (s *entityStore) Find(ctx context.Context) (*workload.Leftover, error) {
	return s.find(ctx, "entity")
}

// Size implements entity.Store.
func (s *entityStore) Size(ctx context.Context) (workload.Size, error) { return s.size(ctx, "entity") }

// Create implements entity.Store. The type is int4, for integer is eight bytes in
// CockroachDB (docs, "INT").
func (s *entityStore) Create(ctx context.Context, mark workload.Marker) error {
	return s.create(ctx, mark, []string{
		`CREATE TABLE ` + entitySchema + `.entity (id uuid PRIMARY KEY, name text NOT NULL, age int4 NOT NULL,
			description text NOT NULL, address text NOT NULL, phone text NOT NULL, email text NOT NULL)`,
	})
}

// Read implements entity.Store.
func (s *entityStore) Read(ctx context.Context, each func(entity.Entity) error) error {
	return s.view(ctx, s.pool, func(conn *pgx.Conn) error {
		return stream(ctx, conn, `SELECT `+entityColumns+` FROM `+entitySchema+`.entity`, func(columns [][]byte) error {
			e, err := entityOf(columns)
			if err != nil {
				return err
			}
			return stopped(each(e))
		})
	})
}

// entityOf decodes a row of entityColumns in binary format: a uuid is its
// sixteen bytes, an integer four, big-endian, and text its bytes
// (src/backend/utils/adt/uuid.c, int.c and varlena.c).
func entityOf(columns [][]byte) (e entity.Entity, err error) {
	if len(columns) != 7 || len(columns[2]) != 4 {
		return e, fmt.Errorf("a row of %d columns came that is no entity", len(columns))
	}
	if e.ID, err = uuid.FromBytes(columns[0]); err != nil {
		return e, err
	}
	e.Age = int(int32(binary.BigEndian.Uint32(columns[2])))
	e.Name, e.Description, e.Address = string(columns[1]), string(columns[3]), string(columns[4])
	e.Phone, e.Email = string(columns[5]), string(columns[6])
	return e, nil
}

// The statements of the workload. Each is a transaction of its own.
const (
	putEntity = ownStatements + iota
	getEntity
)

func entityTexts() []text {
	return []text{
		putEntity - ownStatements: {"assay_put", `INSERT INTO ` + entitySchema + `.entity (` + entityColumns + `) VALUES ($1, $2, $3::int4, $4, $5, $6, $7)`},
		getEntity - ownStatements: {"assay_get", `SELECT ` + entityColumns + ` FROM ` + entitySchema + `.entity WHERE id = $1`},
	}
}

// entitySession implements entity.Session.
type entitySession struct{ *connection }

// Session implements entity.Store.
func (s *entityStore) Session(ctx context.Context) (entity.Session, error) {
	l, err := s.dial(ctx, entityTexts()...)
	if err != nil {
		return nil, err
	}
	return &entitySession{l}, nil
}

// Put implements entity.Session.
func (n *entitySession) Put(ctx context.Context, e entity.Entity) entity.Reply {
	age := binary.BigEndian.AppendUint32(nil, uint32(int32(e.Age)))
	p := n.conn.StartPipeline(ctx)
	n.sendBinary(p, putEntity,
		[][]byte{e.ID[:], []byte(e.Name), age, []byte(e.Description), []byte(e.Address), []byte(e.Phone), []byte(e.Email)},
		[]uint32{oidUUID, oidText, oidInteger, oidText, oidText, oidText, oidText})
	return entity.Reply{Reply: n.insertOne(p)}
}

// Get implements entity.Session.
func (n *entitySession) Get(ctx context.Context, id uuid.UUID) entity.Reply {
	var r entity.Reply
	p := n.conn.StartPipeline(ctx)
	n.sendBinary(p, getEntity, [][]byte{id[:]}, []uint32{oidUUID})
	ended := n.query("get", p, func(columns [][]byte) (err error) {
		r.Found = true
		r.Entity, err = entityOf(columns)
		return err
	})
	if ended.Outcome != history.Committed {
		return entity.Reply{Reply: ended}
	}
	r.Reply = ended
	return r
}
