package mongodb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/history"
	"assay/workload"
	"assay/workload/script"
)

// scriptStore is a script.Store, in database assay_script, whose collections are those that
// a script makes.
type scriptStore struct{ *schema }

// OpenScript connects to the server and returns its Store. Concerns are as with
// OpenIsolation, and errors as with Open.
func OpenScript(ctx context.Context, target workload.Target) (script.Store, error) {
	p, err := openSchema(ctx, target, script.Name)
	if err != nil {
		return nil, err
	}
	p.open = true
	p.preferSnapshot()
	return &scriptStore{p}, nil
}

// ShardedByID implements script.Sharded.
func (s *scriptStore) ShardedByID() bool { return s.hashed }

func (s *scriptStore) Language() script.Language { return script.Documents }

func (s *scriptStore) Load(ctx context.Context, rows script.Rows) error {
	documents := make([]bson.D, len(rows.Values))
	for i, row := range rows.Values {
		document, is := row[0].(script.Document)
		if !is {
			return fmt.Errorf("mongodb: load %s: a row of type %T is no document", rows.Table, row[0])
		}
		documents[i] = toBSON(document)
	}
	return insertAll(ctx, s.database.Collection(rows.Table), documents)
}

// collection is one of ours or, with its database before a dot, of another's.
func (s *scriptStore) collection(name string) *mongo.Collection {
	if database, own, qualified := strings.Cut(name, "."); qualified {
		return s.client.Database(database).Collection(own)
	}
	return s.database.Collection(name)
}

// Read implements script.Store, in one snapshot of what a majority has.
func (s *scriptStore) Read(ctx context.Context, read func(script.Querier) error) error {
	return s.view(ctx, func(ctx context.Context) error { return read(scriptReader{s, ctx}) })
}

// Observe implements script.Store.
func (s *scriptStore) Observe(ctx context.Context, read func(script.Querier) error) error {
	return s.reading(ctx, func(x steps) error { return read(scriptReader{s, x.ctx}) })
}

// scriptReader runs queries in the session of a context.
type scriptReader struct {
	store *scriptStore
	ctx   context.Context
}

func (r scriptReader) Query(_ context.Context, s script.Statement, row func([]any) error) error {
	return failed("run a query", r.store.query(r.ctx, s.Command, row))
}

// query runs a command that reads. ctx carries the session.
func (s *scriptStore) query(ctx context.Context, c *script.DocumentCommand, row func([]any) error) error {
	of := s.collection(c.Collection)
	var cursor *mongo.Cursor
	var err error
	switch c.Verb {
	case script.Find:
		o := options.Find().SetLimit(c.Limit)
		if c.Fields != nil {
			o.SetProjection(toBSON(c.Fields))
		}
		if c.Sort != nil {
			o.SetSort(toBSON(c.Sort))
		}
		cursor, err = of.Find(ctx, toBSON(c.Filter), o)
	case script.Aggregate:
		cursor, err = of.Aggregate(ctx, valueToBSON(c.Pipeline))
	default:
		return fmt.Errorf("%s is no query", c.Verb)
	}
	if err != nil {
		return err
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for cursor.Next(ctx) {
		document, err := fromBSON(cursor.Current)
		if err == nil && row != nil {
			err = row([]any{document})
		}
		if err != nil {
			return err
		}
	}
	return cursor.Err()
}

// change runs a command that writes, and returns how many documents it has dealt with. ctx
// carries the session, if there is one.
func (s *scriptStore) change(ctx context.Context, c *script.DocumentCommand) (int64, error) {
	of, filter := s.collection(c.Collection), toBSON(c.Filter)
	switch c.Verb {
	case script.Insert:
		documents := make([]bson.D, len(c.Documents))
		for i, d := range c.Documents {
			documents[i] = toBSON(d)
		}
		result, err := of.InsertMany(ctx, documents)
		if err != nil {
			return 0, err
		}
		return int64(len(result.InsertedIDs)), nil
	case script.Update:
		var result *mongo.UpdateResult
		var err error
		if c.One {
			result, err = of.UpdateOne(ctx, filter, valueToBSON(c.Change), options.UpdateOne().SetUpsert(c.Upsert))
		} else {
			result, err = of.UpdateMany(ctx, filter, valueToBSON(c.Change), options.UpdateMany().SetUpsert(c.Upsert))
		}
		if err != nil {
			return 0, err
		}
		return result.MatchedCount + result.UpsertedCount, nil
	case script.Delete:
		var result *mongo.DeleteResult
		var err error
		if c.One {
			result, err = of.DeleteOne(ctx, filter)
		} else {
			result, err = of.DeleteMany(ctx, filter)
		}
		if err != nil {
			return 0, err
		}
		return result.DeletedCount, nil
	case script.CreateCollection:
		if err := s.recordMade(ctx, s.collectionObject(c.Collection)); err != nil {
			return 0, err
		}
		return 0, s.createCollection(ctx, c.Collection)
	case script.CreateIndex:
		name, err := of.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: toBSON(c.Keys), Options: options.Index().SetUnique(c.Unique)})
		if err == nil {
			err = s.recordMade(ctx, s.indexObject(name, c.Collection))
		}
		return 0, err
	}
	return 0, fmt.Errorf("%s changes nothing", c.Verb)
}

type scriptSession struct {
	*transactor
	store *scriptStore
}

func (s *scriptStore) Session(ctx context.Context) (script.Session, error) {
	x, err := s.transactor(ctx)
	return &scriptSession{x, s}, err
}

// Single implements script.Session. What is sent alone is not atomic over its documents, so
// that an error proves nothing of what changes several. A document whose key is there is
// not inserted.
func (n *scriptSession) Single(ctx context.Context, s script.Statement) workload.Reply {
	counted, sent := counting(ctx)
	var err error
	if s.Reads {
		err = n.store.query(counted, s.Command, nil)
	} else {
		_, err = n.store.change(counted, s.Command)
	}
	switch {
	case err == nil:
		return workload.Reply{Outcome: history.Committed}
	case s.Reads:
		return withoutEffect("run a statement", err, sent.commands)
	}
	r := unacknowledged("run a statement", err, sent.commands)
	if r.Class == workload.ClassDuplicate && len(s.Command.Documents) == 1 && sent.commands == 1 && !hasWriteConcernError(err) {
		r.Outcome = history.Failed
	}
	return constrained(r)
}

// Transaction implements script.Session. Before the commit everything that goes wrong is
// proof of no effect (judgeStatement), after it only the server's own words are
// (judgeCommit).
func (n *scriptSession) Transaction(ctx context.Context, _ bool, work func(context.Context, script.Transaction) error) workload.Reply {
	return constrained(n.transact(ctx, func(x steps) error {
		t := &scriptTransaction{n.store, x, nil}
		err := work(x.ctx, t)
		if err != nil && (t.failed == nil || errors.Is(err, script.ErrLeave)) { // not the session's fault
			return &endError{workload.Reply{Outcome: history.Failed, Class: classOf(err), Err: err}}
		}
		if err != nil {
			err = t.failed
		}
		return failed("run a statement", err)
	}))
}

// constrained is a reply with the class of what a unique index refused.
func constrained(r workload.Reply) workload.Reply {
	if r.Class == workload.ClassDuplicate {
		r.Class = script.ClassConstraint
	}
	return r
}

type scriptTransaction struct {
	store *scriptStore
	steps
	failed error
}

func (t *scriptTransaction) Query(_ context.Context, s script.Statement, row func([]any) error) error {
	var own error // of the callback, and not the database's
	err := t.store.query(t.next(), s.Command, func(values []any) error {
		if row != nil {
			own = row(values)
		}
		return own
	})
	if err != nil && own == nil {
		t.failed = err
	}
	return err
}

func (t *scriptTransaction) Execute(_ context.Context, s script.Statement) (int64, error) {
	changed, err := t.store.change(t.next(), s.Command)
	if err != nil {
		t.failed = err
	}
	return changed, err
}

// toBSON is a document of a script; an empty one for nil.
func toBSON(of script.Document) bson.D {
	document := make(bson.D, len(of))
	for i, f := range of {
		document[i] = bson.E{Key: f.Name, Value: valueToBSON(f.Value)}
	}
	return document
}

func valueToBSON(v any) any {
	switch v := v.(type) {
	case script.Document:
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

// fromBSON is a document as a script has it. What a script has no type for is a string.
func fromBSON(raw bson.Raw) (script.Document, error) {
	elements, err := raw.Elements()
	if err != nil {
		return nil, fmt.Errorf("understand a document: %w", err)
	}
	document := make(script.Document, len(elements))
	for i, e := range elements {
		value, err := valueFromBSON(e.Value())
		if err != nil {
			return nil, err
		}
		document[i] = script.Field{Name: e.Key(), Value: value}
	}
	return document, nil
}

func valueFromBSON(v bson.RawValue) (any, error) {
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
