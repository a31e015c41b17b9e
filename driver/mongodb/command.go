package mongodb

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"assay/history"
	"assay/store"
)

// native plans a command, which is a parameter, on a database.
func (s *database) native(of store.Statement, in *mongo.Database) (*plan, error) {
	if of.Text != store.Command {
		return nil, fmt.Errorf("mongodb: statement %q: a statement in MongoDB's language is a document, and no text with parameters", of.Name)
	}
	return &plan{Statement: of, db: s, by: in}, nil
}

// command does a command that is the only parameter, and says how many documents it has
// dealt with. Its collection is one of ours or, with its database before a dot, of
// another's. What is neither in a transaction nor in a snapshot has the concerns of our
// collections. A collection is made so that it is sharded where that is asked for, and the
// mark names it before it is there.
func (p *plan) command(x steps, v *values, use func(bson.Raw) error) (int64, error) {
	if len(v.parameters) != 1 || len(v.parameters[0].Document) == 0 {
		return 0, errors.New("mongodb: a command is one document")
	}
	in, d := p.by, toBSON(v.parameters[0].Document)
	collection, _ := d[0].Value.(string)
	if database, own, qualified := strings.Cut(collection, "."); qualified {
		in, d[0].Value, collection = in.Client().Database(database), own, own
	}
	if d[0].Key == "create" {
		if err := p.db.recordMade(x.ctx, p.db.collectionObject(collection)); err != nil {
			return 0, err
		}
		if x.of == nil {
			return 0, p.db.createCollection(x.ctx, collection)
		}
	}
	if x.of != nil && p.Gives {
		return 0, x.of.each(x.sent, in.Collection(collection), d, 0, use)
	}
	if x.of != nil {
		answer, err := x.of.run(x.sent, in.Name(), d)
		return numberIn(answer, "n"), err
	}
	if mongo.SessionFromContext(x.ctx) == nil {
		name, concern := "writeConcern", bson.E{Key: "w", Value: "majority"}
		if p.Reads {
			name, concern = "readConcern", bson.E{Key: "level", Value: "majority"}
		}
		d = append(d, bson.E{Key: name, Value: bson.D{concern}})
	}
	if p.Gives {
		cursor, err := in.RunCommandCursor(x.next(), d)
		return 0, eachIn(x.ctx, in.Collection(collection), cursor, err, use)
	}
	var reply struct {
		N int64 `bson:"n"`
	}
	err := in.RunCommand(x.next(), d).Decode(&reply)
	return reply.N, err
}

// judgeCommand says how a command ended that was sent by itself. It is not atomic over its
// documents, so that an error proves nothing of one that changes several.
func judgeCommand(command store.Document, err error, sent int) store.Reply {
	documents, _ := command.Value("documents").([]any)
	r := unacknowledged("run a statement", err, sent)
	if (r.Class == store.ClassDuplicate || r.Class == store.ClassConstraint) && len(documents) == 1 && sent == 1 && !hasWriteConcernError(err) {
		r.Outcome = history.Failed
	}
	return r
}

// insertDocuments inserts rows that are documents.
func insertDocuments(x steps, in place, rows store.Rows, ordered bool) (int64, error) {
	if rows.Count == 0 {
		return 0, nil
	}
	documents := make([]bson.D, rows.Count)
	var values []store.Value
	for i := range documents {
		if values = rows.Row(i, values[:0]); len(values) != 1 || values[0].Kind != store.Tree {
			return 0, fmt.Errorf("mongodb: a row of collection %s is no document", rows.Table)
		}
		documents[i] = toBSON(values[0].Document)
	}
	_, err := in.each(x, "insert", "documents", ordered, len(documents), func(i int) bson.D { return documents[i] })
	return int64(rows.Count), err
}

// toBSON is a document of a user; an empty one for nil.
func toBSON(of store.Document) bson.D {
	document := make(bson.D, len(of))
	for i, f := range of {
		document[i] = bson.E{Key: f.Name, Value: valueToBSON(f.Value)}
	}
	return document
}

func valueToBSON(v any) any {
	switch v := v.(type) {
	case store.Document:
		return toBSON(v)
	case []any:
		all := make(bson.A, len(v))
		for i, element := range v {
			all[i] = valueToBSON(element)
		}
		return all
	}
	return v
}

// fromBSON is a document as the contract has it. What that has no type for is a string.
func fromBSON(raw bson.Raw) (store.Document, error) {
	elements, err := raw.Elements()
	if err != nil {
		return nil, fmt.Errorf("understand a document: %w", err)
	}
	document := make(store.Document, len(elements))
	for i, e := range elements {
		value, err := valueFromBSON(e.Value())
		if err != nil {
			return nil, err
		}
		document[i] = store.Field{Name: e.Key(), Value: value}
	}
	return document, nil
}

func valueFromBSON(v bson.RawValue) (any, error) {
	if v.IsZero() { // the field is not there
		return nil, nil
	}
	switch v.Type {
	case bson.TypeNull, bson.TypeUndefined:
		return nil, nil
	case bson.TypeInt32, bson.TypeInt64:
		return v.AsInt64(), nil
	case bson.TypeDouble:
		return v.Double(), nil
	case bson.TypeBoolean:
		return v.Boolean(), nil
	case bson.TypeString:
		return v.StringValue(), nil
	case bson.TypeEmbeddedDocument:
		return fromBSON(v.Document())
	case bson.TypeArray:
		values, err := v.Array().Values()
		if err != nil {
			return nil, fmt.Errorf("understand an array: %w", err)
		}
		all := make([]any, len(values))
		for i, element := range values {
			if all[i], err = valueFromBSON(element); err != nil {
				return nil, err
			}
		}
		return all, nil
	case bson.TypeObjectID:
		return v.ObjectID().Hex(), nil
	case bson.TypeDateTime:
		return v.Time().UTC().Format(time.RFC3339Nano), nil
	case bson.TypeDecimal128:
		return v.Decimal128().String(), nil
	}
	return v.String(), nil
}
