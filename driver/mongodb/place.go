package mongodb

import (
	"fmt"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// place is a collection, and the write concern of what is in no transaction. What changes documents is
// sent to it as a command: the library's own methods encode each document once more and decode answers by
// reflection. What is in a transaction the library does not send at all. Errors are those of its Database.RunCommand.
type place struct {
	*mongo.Collection
	writes bson.D // nothing for the server's default
}

// place is a collection of a database as one of the clients has it.
func (d *database) place(in *mongo.Database, collection string) place {
	p, w := place{Collection: in.Collection(collection)}, writeconcern.Majority()
	if in != d.database && d.application != nil {
		w = d.application.options.WriteConcern
	}
	if w == nil {
		return p
	}
	if of := concern(w, 0); len(of) > 0 {
		p.writes = bson.D{{Key: "writeConcern", Value: of}}
	}
	return p
}

// run does a command, which has these fields behind its name, and returns the answer. As the library's own
// writes do, one of a causally consistent session waits for what the session has seen.
func (p place) run(x steps, name string, fields ...bson.E) (bson.Raw, error) {
	d := append(bson.D{{Key: name, Value: p.Name()}}, fields...)
	if x.of != nil {
		return x.of.run(x.sent, p.Database().Name(), d)
	}
	d = append(d, p.writes...)
	if at := operationTime(mongo.SessionFromContext(x.ctx)); at != nil {
		d = append(d, bson.E{Key: "readConcern", Value: bson.D{{Key: "afterClusterTime", Value: *at}}})
	}
	return p.Database().RunCommand(x.next(), bsonOf(d)).Raw()
}

// operationTime is what a causally consistent session has seen; nil of no session and before it has seen anything.
func operationTime(session *mongo.Session) *bson.Timestamp {
	if session == nil {
		return nil
	}
	return session.OperationTime()
}

func (p place) insert(x steps, document bson.D) error {
	_, err := p.run(x, "insert", bson.E{Key: "documents", Value: bson.A{document}})
	return err
}

// change updates or deletes by one command, and says how many documents it has found. In is the array of what is
// to be done.
func (p place) change(x steps, name, in string, what ...bson.E) (int64, error) {
	answer, err := p.run(x, name, bson.E{Key: in, Value: bson.A{bson.D(what)}})
	return numberIn(answer, "n"), err
}

const (
	// commandBytes is after how many bytes of documents a command ends. A command may have 16 MiB,
	// and no row has half of that.
	commandBytes = 8 << 20
	// commandDocuments is how many a command may have (MongoDB manual, "hello", maxWriteBatchSize).
	commandDocuments = 100_000
)

// each does with documents, which are in the array in, by as few commands as may be, and says how
// many documents the server has inserted or found. It ends with the first command that has an error.
// The documents are written as BSON at once: the library's own encoding and its look at each _id take
// longer than all else that a client does for a row.
func (p place) each(x steps, name, in string, ordered bool, count int, document func(i int) bson.D) (n int64, err error) {
	var documents []byte
	for first := 0; first < count && err == nil; {
		next := first
		_, documents = bsoncore.AppendArrayStart(documents[:0])
		for ; next < count && len(documents) < commandBytes && next-first < commandDocuments; next++ {
			documents, _ = appendField(documents, strconv.Itoa(next-first), document(next))
		}
		documents = closed(documents, 0)
		var answer bson.Raw
		answer, err = p.run(x, name, bson.E{Key: "ordered", Value: ordered},
			bson.E{Key: in, Value: bson.RawValue{Type: bson.TypeArray, Value: documents}})
		n, first = n+numberIn(answer, "n"), next
	}
	return n, err
}

// modify changes one document, and returns it; nil if there is none.
func (p place) modify(x steps, filter bson.D, update any, more ...bson.E) (bson.Raw, error) {
	answer, err := p.run(x, "findAndModify", append(bson.D{{Key: "query", Value: filter}, {Key: "update", Value: update}}, more...)...)
	if err != nil {
		return nil, err
	}
	value, err := answer.LookupErr("value")
	if err != nil {
		return nil, fmt.Errorf("mongodb: collection %s: an answer has no document: %w", p.Name(), err)
	}
	document, _ := value.DocumentOK()
	return document, nil
}
