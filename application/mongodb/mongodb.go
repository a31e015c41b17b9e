// Package mongodb is MongoDB's protocol between an application and its server: what is passed on,
// and what its bytes mean.
//
// A driver that is given a replica set's member goes to the members that it names. So the address
// that an application gets has directConnection=true, and each connection goes to the member that
// is the primary when it is opened. The server's answers are passed on as they are, but for
// the compression that it accepts.
package mongodb

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"assay/application/wire"
	"assay/driver/mongodb"
	"assay/store"
)

// Server is the server behind, as an address names it.
type Server struct {
	options *options.ClientOptions
	reach   wire.Reach
}

// New reads an address. Errors are *store.OptionError and *store.UnreachableError.
func New(address string) (*Server, error) {
	parsed, o, err := mongodb.AccessOf(address)
	if err != nil {
		return nil, err
	}
	_, query, _ := strings.Cut(address, "?")
	own, secret := url.Values{}, url.Values{}
	var hidden []string
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		lower := strings.ToLower(name)
		encrypts := strings.HasPrefix(lower, "tls") || strings.HasPrefix(lower, "ssl")
		if name != "" && !encrypts && !slices.Contains([]string{"replicaset", "directconnection", "loadbalanced", "compressors", "srvmaxhosts", "srvservicename"}, lower) {
			value, _ = url.QueryUnescape(value)
			secrets := secretsOf(name, value)
			if hidden = append(hidden, secrets...); len(secrets) > 0 {
				secret.Set(name, value)
			} else {
				own.Set(name, value)
			}
		}
	}
	if o.Auth != nil && o.Auth.AuthSource != "" {
		own.Del("authsource")
		own.Set("authSource", o.Auth.AuthSource)
	}
	own.Set("directConnection", "true")
	return &Server{o, wire.Reach{Product: "MongoDB", Scheme: "mongodb", Options: own.Encode(), Secret: secret.Encode(), Hidden: hidden, User: parsed.Username, Password: parsed.Password, Database: parsed.Database,
		Variables: []string{"MONGODB_URI={address}", "MONGODB_URL={address}", "MONGO_URL={address}", "SPRING_DATA_MONGODB_URI={address}", "SPRING_MONGODB_URI={address}"}}}, nil
}

// secretsOf are the secrets in an option's value: the whole of it, or of a login's properties,
// NAME:VALUE,NAME:VALUE, those such as AWS_SESSION_TOKEN (manual 8.0, "Connection String Options").
func secretsOf(name, value string) (all []string) {
	keep := func(name, value string) {
		if value != "" && store.NamesPassword(name) {
			all = append(all, value)
		}
	}
	if !strings.EqualFold(name, "authMechanismProperties") {
		keep(name, value)
		return all
	}
	for pair := range strings.SplitSeq(value, ",") {
		name, value, _ := strings.Cut(pair, ":")
		keep(name, value)
	}
	return all
}

// Reach implements application.Product.
func (s *Server) Reach() wire.Reach { return s.reach }

// Dial implements wire.Protocol: the member that takes writes. assay waits while members answer and none
// does, as a driver waits that knows all of them. Then it takes one that answers, and that says
// itself that it takes no writes.
func (s *Server) Dial(ctx context.Context) (net.Conn, error) {
	if s.direct() {
		return s.connect(ctx, s.options.Hosts[0])
	}
	for until := time.Now().Add(electionTime); ; {
		host, writable, err := s.member(ctx)
		switch {
		case err != nil:
			return nil, err
		case writable || time.Now().After(until):
			return s.connect(ctx, host)
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// direct reports whether the address means one member, whatever it is.
func (s *Server) direct() bool { return s.options.Direct != nil && *s.options.Direct }

// electionTime is how long members that answer may take to have a primary: MongoDB's is 10 s of
// silence, and then the election (manual 8.0, "Replica Set Elections").
const (
	electionTime = 20 * time.Second
	lookAgain    = 100 * time.Millisecond
)

// member is the one that takes writes, or else one that answers.
func (s *Server) member(ctx context.Context) (host string, writable bool, err error) {
	hosts := slices.Clone(s.options.Hosts)
	var all []error
	for i := 0; i < len(hosts); i++ {
		writable, primary, err := s.ask(ctx, hosts[i])
		switch {
		case writable:
			return hosts[i], true, nil
		case err != nil:
			all = append(all, err)
		case host == "":
			host = hosts[i]
		}
		if primary != "" && !slices.Contains(hosts, primary) {
			hosts = slices.Insert(hosts, i+1, primary)
		}
	}
	if host == "" {
		return "", false, errors.Join(all...)
	}
	return host, false, nil
}

func (s *Server) connect(ctx context.Context, host string) (net.Conn, error) {
	network := "tcp"
	if strings.HasPrefix(host, "/") {
		network = "unix"
	} else if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), "27017")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, host)
	if err != nil || s.options.TLSConfig == nil {
		return conn, err
	}
	config := s.options.TLSConfig.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(host)
	}
	encrypted := tls.Client(conn, config)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return encrypted, nil
}

// Count implements application.Counter, by the primary's newest state.
func (s *Server) Count(ctx context.Context, queries []string) (all []int64, err error) {
	client, err := mongo.Connect(s.options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Disconnect(context.WithoutCancel(ctx))) }()
	newest := options.Collection().SetReadPreference(readpref.Primary()).SetReadConcern(readconcern.Local())
	for _, q := range queries {
		table, filter, _ := strings.Cut(q, "\x00")
		database, collection, _ := strings.Cut(table, ".")
		n, err := client.Database(database).Collection(collection, newest).CountDocuments(ctx, bson.Raw(filter))
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// ask asks a member whether it takes writes, and which does. Who asks gets a connection of its own: to
// one that has said hello, no client could introduce itself.
func (s *Server) ask(ctx context.Context, host string) (writable bool, primary string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	conn, err := s.connect(ctx, host)
	if err != nil {
		return false, "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(askTime))
	request := bsoncore.NewDocumentBuilder().AppendInt32("hello", 1).AppendString("$db", "admin").Build()
	if _, err := conn.Write(message(0, request)); err != nil {
		return false, "", err
	}
	answer, err := readMessage(conn)
	if err != nil {
		return false, "", err
	}
	hello := bsoncore.Document(answer[min(bodyStart, len(answer)):])
	writable, _ = hello.Lookup("isWritablePrimary").BooleanOK()
	primary, _ = hello.Lookup("primary").StringValueOK()
	return writable, primary, nil
}

// askTime bounds how long a member may take to be reached, and then to say what it is.
const askTime = 2 * time.Second

// The codes of what is sent (MongoDB manual 8.0, "MongoDB Wire Protocol").
const (
	opQuery      = 2004
	opGetMore    = 2005
	opMessage    = 2013
	flagChecksum = 1 << 0
	flagMore     = 1 << 1

	headerSize = 16
	bodyStart  = headerSize + 5 // behind the flags and the kind of a section
	maxHello   = 64 << 10
	maxMessage = 48_000_000
)

// readMessage reads one message that is not large.
func readMessage(from io.Reader) ([]byte, error) {
	head := make([]byte, headerSize)
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, err
	}
	size, code := binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint32(head[12:])
	if size < headerSize || size > maxHello || code != opQuery && code != opMessage {
		return nil, fmt.Errorf("a client does not speak MongoDB's protocol: it begins with %q; give it the address that assay listens at as mongodb://", head)
	}
	whole := append(head, make([]byte, size-headerSize)...)
	_, err := io.ReadFull(from, whole[headerSize:])
	return whole, err
}

// message is a document as a message that answers another.
func message(answers uint32, document []byte) []byte {
	out := binary.LittleEndian.AppendUint32(nil, uint32(bodyStart+len(document)))
	for _, field := range []uint32{1, answers, opMessage, 0} { // its own number, and no flags
		out = binary.LittleEndian.AppendUint32(out, field)
	}
	return append(append(out, 0), document...)
}

// Greet implements wire.Protocol: what a client says first is hello.
func (s *Server) Greet(_ context.Context, app *wire.App) ([]byte, wire.Talk, error) {
	head, err := app.First(headerSize)
	if err != nil {
		return nil, nil, err
	}
	first, err := readMessage(io.MultiReader(bytes.NewReader(head), app))
	return first, &talk{follows: !s.direct()}, err
}

// Possible implements wire.Protocol. A server with too many connections closes the new one without a word, as a
// reset does. It repeats a single write after a conflict itself: only a transaction fails by one.
func (*Server) Possible(a wire.Action, p *wire.Place) bool {
	switch a {
	case wire.TooMany:
		return false
	case wire.GiveDeadlock, wire.GiveSerialization:
		return p.Within
	}
	return true
}

// Error implements wire.Protocol, with the words of MongoDB 6.0 and its labels, by which drivers
// know what can be sent again (manual 8.0, "Retryable Writes" and "Transactions").
func (*Server) Error(code wire.Code, _ bool, r *wire.Request) []byte {
	type known struct {
		code       int32
		name, text string
	}
	of, is := map[wire.Code]known{
		wire.ShuttingDown:  {11600, "InterruptedAtShutdown", "interrupted at shutdown"},
		wire.Deadlock:      {112, "WriteConflict", "WriteConflict error: this operation conflicted with another operation. Please retry your operation or multi-document transaction."},
		wire.Serialization: {251, "NoSuchTransaction", "Transaction has been aborted."},
		wire.NotPrimary:    {10107, "NotWritablePrimary", "not primary"},
	}[code]
	if !is || r == nil || code == wire.NotPrimary && !changes(r) {
		return nil
	}
	commits := slices.ContainsFunc(r.Statements, func(s *wire.Statement) bool { return s.Kind != wire.Other })
	label := ""
	switch aborted := code == wire.Deadlock || code == wire.Serialization; {
	case r.Session != "" && (!commits || aborted):
		label = transient
	case r.Session != "" || r.Once != "":
		label = retryable
	}
	b := bsoncore.NewDocumentBuilder().AppendDouble("ok", 0).AppendString("errmsg", of.text).AppendInt32("code", of.code).AppendString("codeName", of.name)
	if label != "" {
		b.AppendArray("errorLabels", bsoncore.NewArrayBuilder().AppendString(label).Build())
	}
	return message(r.ID, b.Build())
}

// changes reports whether only a primary does what is asked.
func changes(r *wire.Request) bool {
	return r.Session != "" || slices.ContainsFunc(r.Statements, func(s *wire.Statement) bool { return writes(s.Shape) })
}

// The labels of errors.
const (
	transient = "TransientTransactionError"
	retryable = "RetryableWriteError"
	noWrites  = "NoWritesPerformed"
)

// Words implements wire.Protocol: an error ends the whole transaction, and a server that stops being
// the primary says so.
func (*Server) Words() wire.Words { return wire.Words{Rollback: abort} }

// abort is the command that rolls back.
const abort = "abortTransaction"
