package mongodb

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"assay/history"
	"assay/workload"
	"assay/workload/entity"
)

// entityStore is an entity.Store, in database assay_entity.
//
//	entity {_id: UUID, name, age, description, address, phone, email}
//
// Connections, concerns and all that is not of the documents are those of
// workload availability.
type entityStore struct{ *availabilityStore }

// OpenEntity connects to the server and returns its Store. Writes have the
// write concern and reads the read concern of the address (w, journal,
// wtimeoutMS; readConcernLevel), or the server's defaults, and the primary
// answers reads. The library's retries are off. Errors are as with OpenBank.
func OpenEntity(ctx context.Context, target workload.Target) (entity.Store, error) {
	if target.Isolation != "" {
		return nil, &workload.OptionError{Option: "isolation level", Value: target.Isolation,
			Want: "none: writes and reads of single documents are no transactions; the address's readConcernLevel and w choose"}
	}
	common := target
	common.Address = withoutReadConcern(target.Address)
	p, err := openPlace(ctx, common, "entity", "entity")
	if err != nil {
		return nil, err
	}
	o := p.sessions(target.Address)
	if o.MaxPoolSize == nil {
		o.SetMaxPoolSize(maxPoolSize)
	}
	return &entityStore{&availabilityStore{place: p, rows: p.collections[0], preference: readpref.Primary(), application: o}}, nil
}

// Read implements entity.Store, in one snapshot of what a majority has.
func (s *entityStore) Read(ctx context.Context, use func(entity.Entity) error) error {
	return s.view(ctx, func(ctx context.Context) error {
		return each(ctx, s.rows, options.Find(), func(document bson.Raw) error {
			e, err := entityOf(document)
			if err != nil {
				return err
			}
			return use(e)
		})
	})
}

// subtypeUUID is BSON's for UUIDs (BSON specification, version 1.1).
const subtypeUUID = 0x04

func documentOf(e entity.Entity) bson.D {
	return bson.D{{Key: "_id", Value: bson.Binary{Subtype: subtypeUUID, Data: e.ID[:]}}, {Key: "name", Value: e.Name}, {Key: "age", Value: int32(e.Age)},
		{Key: "description", Value: e.Description}, {Key: "address", Value: e.Address}, {Key: "phone", Value: e.Phone}, {Key: "email", Value: e.Email}}
}

func entityOf(document bson.Raw) (e entity.Entity, err error) {
	subtype, id, ok := document.Lookup("_id").BinaryOK()
	if !ok || subtype != subtypeUUID || len(id) != len(e.ID) {
		return e, errors.New("mongodb: a document whose _id is no UUID")
	}
	e.ID = uuid.UUID(id)
	var age int64
	if err := integers(document, "entity", []string{"age"}, []*int64{&age}); err != nil {
		return e, err
	}
	e.Age = int(age)
	for name, into := range map[string]*string{"name": &e.Name, "description": &e.Description, "address": &e.Address,
		"phone": &e.Phone, "email": &e.Email} {
		if *into, ok = document.Lookup(name).StringValueOK(); !ok {
			return e, fmt.Errorf("mongodb: collection entity: field %s of a document is missing or not a string", name)
		}
	}
	return e, nil
}

// entitySession is an entity.Session over the client that all share.
type entitySession struct{ rows *mongo.Collection }

// Session implements entity.Store. It contacts nobody.
func (s *entityStore) Session(context.Context) (entity.Session, error) {
	client, err := s.share()
	if err != nil {
		return nil, err
	}
	return &entitySession{client.Database(s.database.Name()).Collection(s.rows.Name())}, nil
}

// Put implements entity.Session; see judgeInsert for how it ends.
func (n *entitySession) Put(ctx context.Context, e entity.Entity) entity.Reply {
	counted, sent := counting(ctx)
	_, err := n.rows.InsertOne(counted, documentOf(e))
	return entity.Reply{Reply: judgeInsert(err, sent.commands)}
}

// Get implements entity.Session.
func (n *entitySession) Get(ctx context.Context, id uuid.UUID) entity.Reply {
	counted, sent := counting(ctx)
	document, err := n.rows.FindOne(counted, bson.D{{Key: "_id", Value: bson.Binary{Subtype: subtypeUUID, Data: id[:]}}}).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return entity.Reply{Reply: workload.Reply{Outcome: history.Committed}}
	}
	r := entity.Reply{Reply: workload.Reply{Outcome: history.Committed}, Found: true}
	if err == nil {
		r.Entity, err = entityOf(document)
	}
	if err == nil {
		return r
	}
	return entity.Reply{Reply: withoutEffect("get", err, sent)}
}

// Close implements entity.Session.
func (n *entitySession) Close() {}
