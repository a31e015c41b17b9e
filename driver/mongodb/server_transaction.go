package mongodb

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	topologies "go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// serverTransaction is the transaction of a session, whose commands are written and sent here and not by the library.
// They go to one server and, if the pool has a connection for every client, over one connection.
type serverTransaction struct {
	deployment  *deployment
	session     *serverSession
	readConcern *readconcern.ReadConcern
	// open is true as soon as the server may know of the transaction.
	open bool
	// keeps is true if commands go over the connection of the first.
	keeps bool
	// server is the one that was chosen, nil before; primary is true if it was one then.
	server  *chosen
	primary bool
	// connection is nil if there is none now.
	connection *command
	bytes      []byte // of the last command, for their memory
}

// run does a command on a database, and returns the answer. Errors are those of the library's Database.RunCommand.
func (t *serverTransaction) run(x *sending, database string, of bson.D) (bson.Raw, error) {
	x.latest = false
	if err := x.Err(); err != nil {
		return nil, err
	}
	if err := t.connect(x); err != nil {
		return nil, err
	}
	if err := t.write(database, of); err != nil {
		return nil, err
	}
	c := t.connection
	answer, err := c.asked(x, t.bytes, t.deployment.compresses)
	t.open = t.open || x.latest
	if err != nil {
		_ = t.server.ProcessError(err, c) // what became of the server is no concern of the command
		err = libraryError(err)
	}
	if c.failed || !t.keeps {
		t.release()
	}
	return answer, err
}

// connect chooses the server and takes a connection, unless there is one that is still good. A router stays that of
// its transaction (transactions specification, "Mongos Pinning").
func (t *serverTransaction) connect(ctx context.Context) error {
	if t.server != nil && t.primary && t.server.Server.Description().Kind != topologies.ServerKindRSPrimary {
		t.leave()
	}
	if c := t.connection; c != nil && (!c.Alive() || c.Stale()) {
		t.release()
	}
	if t.server == nil {
		selected, err := t.deployment.SelectServer(ctx, writers{t.deployment.farther})
		if err != nil {
			return err
		}
		of, is := selected.(*chosen)
		if !is {
			return errNotOurs
		}
		t.server, t.primary = of, of.Server.Description().Kind == topologies.ServerKindRSPrimary
	}
	if t.connection != nil {
		return nil
	}
	c, err := t.server.Connection(ctx)
	if err != nil {
		t.leave() // it may be none of the cluster's any more
		return err
	}
	of, is := c.ReadWriteCloser.(*command)
	if !is {
		return errors.Join(errNotOurs, c.Close())
	}
	t.connection = of
	return nil
}

var errNotOurs = errors.New("mongodb: the library's server or connection is of an unknown type")

// release gives the connection back.
func (t *serverTransaction) release() {
	if t.connection != nil {
		_ = t.connection.Close() // it goes back to the pool
		t.connection = nil
	}
}

// leave has the next command choose a server.
func (t *serverTransaction) leave() {
	t.release()
	t.server = nil
}

// write makes a message of a command (MongoDB manual, "MongoDB Wire Protocol", "OP_MSG"; transactions specification,
// "Constructing any command within a transaction").
func (t *serverTransaction) write(database string, of bson.D) error {
	_, b := wiremessage.AppendHeaderStart(t.bytes[:0], wiremessage.NextRequestID(), 0, wiremessage.OpMsg)
	b = wiremessage.AppendMsgSectionType(wiremessage.AppendMsgFlags(b, 0), wiremessage.SingleDocument)
	start, b := bsoncore.AppendDocumentStart(b)
	for i := range of {
		from := len(b)
		var known bool
		if b, known = appendField(b, of[i].Key, of[i].Value); !known {
			kind, value, err := bson.MarshalValue(of[i].Value)
			if err != nil {
				return fmt.Errorf("mongodb: command %s: %w", of[0].Key, err)
			}
			b = append(bsoncore.AppendHeader(b[:from], bsoncore.Type(kind), of[i].Key), value...)
		}
	}
	if !t.open {
		b = bsoncore.AppendBooleanElement(b, "startTransaction", true)
		b, _ = appendField(b, "readConcern", bson.D{{Key: "level", Value: t.readConcern.Level}})
	}
	id, b := bsoncore.AppendDocumentElementStart(b, "lsid")
	b = closed(bsoncore.AppendBinaryElement(b, "id", bson.TypeBinaryUUID, t.session.id[:]), id)
	b = bsoncore.AppendInt64Element(b, "txnNumber", t.session.number)
	b = bsoncore.AppendBooleanElement(b, "autocommit", false)
	b = bsoncore.AppendStringElement(b, "$db", database)
	b = closed(t.deployment.sockets.time.appendTo(b), start)
	t.bytes = bsoncore.UpdateLength(b, 0, int32(len(b)))
	return nil
}

// each does a command that answers with a cursor, and gives each document. It returns an error of use as it is.
func (t *serverTransaction) each(x *sending, in *mongo.Collection, of bson.D, batch int32, use func(bson.Raw) error) error {
	database, name := in.Database().Name(), "firstBatch"
	answer, err := t.run(x, database, of)
	for err == nil {
		id, _ := answer.Lookup("cursor", "id").AsInt64OK()
		namespace, _ := answer.Lookup("cursor", "ns").StringValueOK()
		_, collection, _ := strings.Cut(namespace, ".")
		documents, is := answer.Lookup("cursor", name).ArrayOK()
		if !is {
			return readError(in, errors.New("an answer has no cursor"))
		}
		values, malformed := documents.Values()
		for i := 0; i < len(values) && malformed == nil; i++ {
			document, is := values[i].DocumentOK()
			if !is {
				malformed = errors.New("an answer has what is no document")
			} else if err := use(document); err != nil {
				if id != 0 {
					_, _ = t.run(x, database, bson.D{{Key: "killCursors", Value: collection}, {Key: "cursors", Value: bson.A{id}}})
				}
				return err
			}
		}
		if malformed != nil || id == 0 {
			return readError(in, malformed)
		}
		more := bson.D{{Key: "getMore", Value: id}, {Key: "collection", Value: collection}}
		if batch > 0 {
			more = append(more, bson.E{Key: "batchSize", Value: batch})
		}
		name = "nextBatch"
		answer, err = t.run(x, database, more)
	}
	return readError(in, err)
}

// abort tells the server that the transaction is over, and reports whether the server knows. There is nothing to
// replicate: without a write concern the server would have a majority confirm what others wrote.
func (t *serverTransaction) abort(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortBound)
	defer cancel()
	_, err := t.run(counting(ctx, nil), "admin", bson.D{{Key: "abortTransaction", Value: 1}, {Key: "writeConcern", Value: bson.D{{Key: "w", Value: 1}}}})
	code, answered := serverCode(err)
	// Any refusal means that there is no such transaction, or no longer: it has
	// been aborted or committed. Only a timeout leaves that open.
	return err == nil || answered && code != codeMaxTimeMSExpired && code != codeExceededTimeLimit
}

// writers selects the primary, or the routers that are so much farther than the nearest at most, as the library does
// (server selection specification, "localThresholdMS").
type writers struct{ farther time.Duration }

// SelectServer implements description.ServerSelector.
func (w writers) SelectServer(of topologies.Topology, servers []topologies.Server) ([]topologies.Server, error) {
	if of.Kind == topologies.TopologyKindSingle || of.Kind == topologies.TopologyKindLoadBalanced {
		return servers, nil
	}
	nearest := time.Duration(math.MaxInt64 / 2)
	for i := range servers {
		if servers[i].AverageRTTSet {
			nearest = min(nearest, servers[i].AverageRTT)
		}
	}
	return slices.DeleteFunc(slices.Clone(servers), func(s topologies.Server) bool {
		return s.Kind != topologies.ServerKindRSPrimary && (s.Kind != topologies.ServerKindMongos || s.AverageRTT > nearest+w.farther)
	}), nil
}
