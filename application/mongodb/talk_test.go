package mongodb

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"assay/application/wire"
	"assay/application/wire/wiretest"
	"assay/cluster/mongodb"
	"assay/cluster/server"
	"assay/driver/drivertest"
	"assay/internal/expect"
)

// between has work go through assay to a server of the test's own, by the address that an application
// gets; see wiretest.Between.
func between(t *testing.T, work func(address string)) (recorder *wire.Recorder, passed int) {
	t.Helper()
	set := expect.Started(t, mongodb.Start, mongodb.Options{Layout: server.Layout{Nodes: 1}})
	return wiretest.Between(t, set.Node(0).Address(), func(address string) wire.Protocol {
		product, err := New("mongodb://" + address + "/shop?directConnection=true")
		expect.NoError(t, err)
		return product
	}, 0, func(address string, p wire.Protocol) { work(p.(*Server).Reach().Address(address)) })
}

// TestSameBytes has PyMongo and Go's library work through assay: transactions, single writes of which
// one is sent again, messages larger than any buffer, errors.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	recorder, passed := between(t, func(address string) {
		byLibrary(t, address)
		byPyMongo(t, address)
	})
	all, left := recorder.Transactions()
	want := map[string]int{
		"insert shop.sale documents: [{_id: ?, n: ?}]|7 1|1": 1, "insert shop.sale documents: [{_id: ?, n: ?}]|8 2|1": 1,
		"update shop.sale updates: [{q: {_id: {$in: [? ...]}}, u: {$inc: {n: ?}}, multi: true}]|7 8 5|2": 1,
		"delete shop.sale deletes: [{q: {_id: ?}, limit: ?}]|8 1|1":                                      1,
		"insert shop.big documents: [{_id: ?, text: ?} ...]":                                             1,
		"findAndModify shop.sale":                                           1,
		"insert shop.python documents: [{_id: ?, n: ?} ...]":                20,
		"update shop.python updates: [{q: {_id: ?}, u: {$inc: {n: ?}}, mul": 2_000,
	}
	found, kinds := map[string]int{}, map[wire.Outcome]int{}
	for _, x := range all {
		if x.Writes() || x.Outcome != wire.Committed {
			kinds[x.Outcome]++
		}
		for _, s := range x.Statements {
			for key := range want {
				text := fmt.Sprintf("%s|%s|%d", s.Shape, strings.Join(s.Values, " "), s.Rows)
				if strings.HasPrefix(text, key) && s.Writes && s.Rows > 0 && x.Outcome == wire.Committed {
					found[key]++
				}
			}
		}
	}
	for key, n := range want {
		if found[key] != n {
			t.Errorf("%d were recorded, not %d: %s", found[key], n, key)
		}
	}
	if left != 0 || kinds[wire.RolledBack] != 1 || kinds[wire.Refused] != 3 || kinds[wire.Unknown] != 0 || kinds[wire.Abandoned] != 0 || passed < 16<<20 {
		t.Errorf("the outcomes of %d transactions are %v, %d bytes", len(all), kinds, passed)
	}
}

// beforeOne is assay before a set of one node.
func beforeOne(t *testing.T) (*Server, *wire.Proxy) {
	t.Helper()
	set := expect.Started(t, mongodb.Start, mongodb.Options{Layout: server.Layout{Nodes: 1}})
	product, err := New("mongodb://" + set.Node(0).Address() + "/shop?directConnection=true")
	expect.NoError(t, err)
	return product, wiretest.Listen(t, product)
}

// TestDocumentsAreCompared: two answers are alike if their documents are, with the types of their values.
func TestDocumentsAreCompared(t *testing.T) {
	t.Parallel()
	product, proxy := beforeOne(t)
	proxy.Recorder().KeepAnswers()
	client, err := mongo.Connect(options.Client().ApplyURI(product.Reach().Address(proxy.Address())))
	expect.NoError(t, err)
	sale := client.Database("shop").Collection("sale")
	long := strings.Repeat("x", 50_000)
	for i, n := range []any{5, "5", 5, 5.5, int64(5), long, nil} {
		_, err := sale.InsertOne(t.Context(), bson.M{"_id": i, "n": n})
		expect.NoError(t, err)
		found, err := sale.Find(t.Context(), bson.M{"_id": i}, options.Find().SetProjection(bson.M{"_id": 0}))
		expect.NoError(t, err, found.Close(t.Context()))
	}
	all, err := sale.Find(t.Context(), bson.M{"n": 5}, options.Find().SetBatchSize(2))
	expect.NoError(t, err)
	for all.Next(t.Context()) {
	}
	expect.NoError(t, all.Err(), all.Close(t.Context()), client.Disconnect(t.Context()), proxy.Quiet(t.Context()), proxy.Recorder().Problem())
	var got []string
	bags := map[uint64]int{}
	transactions, _ := proxy.Recorder().Transactions()
	for _, x := range transactions {
		for _, s := range x.Statements {
			if word, _, _ := strings.Cut(s.Shape, " "); s.Answer != nil && (word == "find" || word == "getMore") {
				got = append(got, fmt.Sprintf("%d %v %.40s", s.Answer.Rows, s.Answer.Cut, strings.Join(s.Answer.First, " ")))
				bags[s.Answer.Bag]++
			}
		}
	}
	expect.Text(t, "the answers", strings.Join(got, "\n"), `{"n": "5"})`, `{"n": null}`, "0 true ", "2 false ", "1 false ")
	if len(got) != 9 || len(bags) != 8 {
		t.Errorf("%d answers have %d kinds of documents:\n%s", len(got), len(bags), strings.Join(got, "\n"))
	}
}

// byLibrary has the first transaction be one of two sessions' at the same time.
func byLibrary(t *testing.T, address string) {
	t.Helper()
	ctx := t.Context()
	client, err := mongo.Connect(options.Client().ApplyURI(address))
	expect.NoError(t, err)
	defer func() { expect.NoError(t, client.Disconnect(context.Background())) }()
	sale, big := client.Database("shop").Collection("sale"), client.Database("shop").Collection("big")
	row := func(id, n int) bson.D { return bson.D{{Key: "_id", Value: id}, {Key: "n", Value: n}} }
	in := func(end func(*mongo.Session, context.Context) error, do ...func(context.Context) error) {
		t.Helper()
		session, err := client.StartSession()
		expect.NoError(t, err, session.StartTransaction())
		defer session.EndSession(ctx)
		within := mongo.NewSessionContext(ctx, session)
		for _, f := range do {
			expect.NoError(t, f(within))
		}
		expect.NoError(t, end(session, ctx))
	}
	commit, abort := (*mongo.Session).CommitTransaction, (*mongo.Session).AbortTransaction
	insert := func(id, n int) func(context.Context) error {
		return func(ctx context.Context) error { _, err := sale.InsertOne(ctx, row(id, n)); return err }
	}
	in(commit, insert(7, 1), insert(8, 2), func(ctx context.Context) error {
		_, err := sale.UpdateMany(ctx, bson.M{"_id": bson.M{"$in": []int{7, 8}}}, bson.M{"$inc": bson.M{"n": 5}})
		return err
	})
	in(abort, insert(9, 3))
	if err := insert(7, 1)(ctx); !mongo.IsDuplicateKeyError(err) {
		t.Errorf("7 was inserted twice: %v", err)
	}
	var got bson.M
	expect.NoError(t, sale.FindOneAndUpdate(ctx, bson.M{"_id": 7}, bson.M{"$mul": bson.M{"n": 2}}).Decode(&got))
	_, err = sale.DeleteOne(ctx, bson.M{"_id": 8})
	expect.NoError(t, err)
	var rows []any
	for i := range 100 {
		rows = append(rows, bson.D{{Key: "_id", Value: i}, {Key: "text", Value: strings.Repeat("x", 70_000)}})
	}
	_, err = big.InsertMany(ctx, rows)
	expect.NoError(t, err)
	cursor, err := big.Find(ctx, bson.M{})
	expect.NoError(t, err, cursor.All(ctx, &[]bson.M{}))
	if err := client.Database("shop").RunCommand(ctx, bson.D{{Key: "nonsense", Value: 1}}).Err(); err == nil {
		t.Error("the server knows nonsense")
	}
}

// byPyMongo works by Python's library.
func byPyMongo(t *testing.T, address string) {
	t.Helper()
	cmd := exec.Command("/usr/bin/python3", "-c", `
import os, pymongo
client = pymongo.MongoClient(os.environ["THROUGH"])
rows = client.shop.python
rows.drop()
for n in range(20):
    rows.insert_many({"_id": 1000 * n + i, "n": 0} for i in range(1000))
for n in range(2000):
    rows.update_one({"_id": n}, {"$inc": {"n": 1}})
    rows.find_one({"_id": n})
assert sum(row["n"] for row in rows.find()) == 2000
`)
	cmd.Env = append(os.Environ(), "THROUGH="+address)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
}

// TestEncryptedBothWays has PyMongo insist on encryption, and on the certificate, towards a server
// that takes none but encrypted connections; and says why where one trusts another authority.
func TestEncryptedBothWays(t *testing.T) {
	t.Parallel()
	ours, theirs := drivertest.NewAuthority(t, "ours"), drivertest.NewAuthority(t, "theirs")
	set, err := mongodb.Start(t.Context(), mongodb.Options{Layout: server.Layout{Nodes: 1}, Args: []string{"--tlsMode", "preferTLS",
		"--tlsCertificateKeyFile", ours.Server("127.0.0.1").Both, "--tlsCAFile", ours.File, "--tlsAllowConnectionsWithoutCertificates"}})
	expect.NoError(t, err)
	expect.AtEnd(t, set.Close)
	client, err := mongo.Connect(options.Client().ApplyURI(set.Address()))
	expect.NoError(t, err)
	expect.NoError(t, client.Database("admin").RunCommand(t.Context(), bson.D{{Key: "setParameter", Value: 1}, {Key: "tlsMode", Value: "requireTLS"}}).Err(), client.Disconnect(t.Context()))
	through := func(authority string) (*wire.Proxy, string) {
		product, err := New("mongodb://" + set.Node(0).Address() + "/shop?directConnection=true&tlsCAFile=" + authority)
		expect.NoError(t, err)
		proxy := wiretest.Listen(t, product)
		return proxy, product.Reach().Address(proxy.Address())
	}
	proxy, address := through(ours.File)
	// It offers to compress, which is not accepted: what is compressed would not be understood.
	byPyMongo(t, address+"&compressors=zlib&tls=true&tlsCAFile="+wiretest.Authority(t, proxy))
	expect.NoError(t, proxy.Quiet(t.Context()), proxy.Recorder().Problem())
	if all, _ := proxy.Recorder().Transactions(); len(all) < 4_000 {
		t.Errorf("%d transactions were recorded", len(all))
	}
	wrong, behind := through(theirs.File)
	for address, c := range map[string]struct {
		proxy *wire.Proxy
		says  string
	}{address + "&tls=true&tlsCAFile=" + theirs.File: {proxy, "the application refuses assay's certificate"}, behind: {wrong, "the server: "}} {
		client, err := mongo.Connect(options.Client().ApplyURI(address).SetServerSelectionTimeout(2 * time.Second))
		expect.NoError(t, err)
		if err := client.Ping(t.Context(), nil); err == nil {
			t.Errorf("%s: it has connected", c.says)
		}
		expect.NoError(t, client.Disconnect(t.Context()), c.proxy.Quiet(t.Context()))
		expect.Text(t, "the problem", fmt.Sprint(c.proxy.Recorder().Problem()), c.says, "certificate")
	}
}

// TestPrimary connects to the member that takes writes, whichever the address names first, and to
// the next one once that has changed, by which a client that stays where it is writes on.
func TestPrimary(t *testing.T) {
	t.Parallel()
	set := expect.Started(t, mongodb.Start, mongodb.Options{Layout: server.Layout{Nodes: 2}, Arbiters: 1, ElectionTimeout: 2 * time.Second, Heartbeat: 500 * time.Millisecond})
	behind, err := New("mongodb://" + set.Node(0).Address() + "," + set.Node(1).Address() + "/shop?replicaSet=rs0")
	expect.NoError(t, err)
	proxy := wiretest.Listen(t, behind)
	client, err := mongo.Connect(options.Client().ApplyURI(behind.Reach().Address(proxy.Address())))
	expect.NoError(t, err)
	defer func() { expect.NoError(t, client.Disconnect(context.Background())) }()
	for round := range 2 {
		if round == 1 {
			expect.NoError(t, set.StepDown(t.Context()))
			// What the library keeps is a connection to the member that was the primary, until assay ends it.
			expect.NoError(t, server.Until(expect.Patiently(t), 10*time.Millisecond, "a write", func(ctx context.Context) error {
				_, err := client.Database("shop").Collection("sale").InsertOne(ctx, bson.D{{Key: "_id", Value: -1}})
				if mongo.IsDuplicateKeyError(err) {
					return nil
				}
				return err
			}))
		}
		for n := range 10 {
			_, err := client.Database("shop").Collection("sale").InsertOne(t.Context(), bson.D{{Key: "_id", Value: 10*round + n}})
			expect.NoError(t, err)
		}
		counts, err := behind.Count(t.Context(), inserted(proxy.Recorder()))
		expect.NoError(t, err, proxy.Recorder().Problem())
		if len(counts) < 10*(round+1) || slices.Contains(counts, 0) {
			t.Errorf("of what was inserted there are %v", counts)
		}
		primary, err := set.Primary(t.Context())
		expect.NoError(t, err)
		for member := range 2 {
			product, err := New("mongodb://" + set.Node(member).Address() + "/?replicaSet=rs0")
			expect.NoError(t, err)
			conn, err := product.Dial(t.Context())
			expect.NoError(t, err)
			if got := conn.RemoteAddr().String(); got != set.Node(primary).Address() {
				t.Errorf("by %d it connects to %s, not to %d", member, got, primary)
			}
			expect.NoError(t, conn.Close())
		}
	}
}

// inserted are the queries for what was acknowledged.
func inserted(r *wire.Recorder) (all []string) {
	transactions, _ := r.Transactions()
	for _, x := range transactions {
		if x.Outcome == wire.Committed {
			for _, s := range x.Statements {
				all = append(all, s.Inserted...)
			}
		}
	}
	return all
}

// TestAddresses has what leads an application to assay be nothing that leads it elsewhere.
func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"mongodb://localhost": "mongodb://me/?directConnection=true",
		"mongodb://a:1,b:2/shop?replicaSet=rs0&tls=true&w=majority":     "mongodb://me/shop?directConnection=true&w=majority",
		"mongodb://u:p%40q@a/shop?authMechanism=SCRAM-SHA-256&ssl=true": "mongodb://u@me/shop?authMechanism=SCRAM-SHA-256&authSource=shop&directConnection=true",
	} {
		product, err := New(address)
		expect.NoError(t, err)
		reach := product.Reach()
		if got := reach.Address("me"); got != want {
			t.Errorf("%s leads to %s", address, got)
		}
		if all := strings.Join(reach.Environment("127.0.0.1:7", "ca.pem"), "\n"); strings.Contains(address, "p%40q") && !strings.Contains(all, "MONGODB_URI=mongodb://u:p%40q@127.0.0.1:7/shop") {
			t.Error(all)
		}
	}
	const token = "hun/ter2+=="
	product, err := New("mongodb://key:secret@a/?authMechanism=MONGODB-AWS&authSource=$external&w=1&authMechanismProperties=AWS_SESSION_TOKEN:" + url.QueryEscape(token))
	expect.NoError(t, err)
	reach := product.Reach()
	if got := reach.Address("me"); strings.Contains(got, "hun") || !strings.Contains(got, "authMechanism=MONGODB-AWS") || !strings.Contains(got, "w=1") {
		t.Errorf("in an argument it is %s", got)
	}
	all := reach.Environment("127.0.0.1:7", "ca.pem")
	given := all[slices.IndexFunc(all, func(v string) bool { return strings.HasPrefix(v, "MONGODB_URI=") })]
	if got, err := New(strings.TrimPrefix(given, "MONGODB_URI=")); err != nil || got.options.Auth.AuthMechanismProperties["AWS_SESSION_TOKEN"] != token || got.options.Auth.Password != "secret" {
		t.Errorf("in the environment it is %s: %v", given, err)
	}
	if hidden := reach.Hide(strings.Join(all, " ") + " " + token); strings.Contains(hidden, "hun") || strings.Contains(hidden, "secret@") {
		t.Errorf("a log has %s", hidden)
	}
	if product, err = New("mongodb://u@a/?authMechanism=GSSAPI&authMechanismProperties=SERVICE_NAME:other"); err != nil || !strings.Contains(product.Reach().Address("me"), "SERVICE_NAME") {
		t.Errorf("a name is no secret: %v", err)
	}
	if _, err := New("mongodb://u:hidden@@a:x/"); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Error(err)
	}
}

// TestForeignClients are told which protocol is spoken.
func TestForeignClients(t *testing.T) {
	product, err := New("mongodb://127.0.0.1:1")
	expect.NoError(t, err)
	client, server := net.Pipe()
	go func() { _, _ = io.WriteString(client, "GET / HTTP/1.1\r\nHost: me\r\n\r\n") }()
	if _, _, err := product.Greet(t.Context(), &wire.App{Conn: server}); err == nil || !strings.Contains(err.Error(), "does not speak MongoDB's protocol") {
		t.Error(err)
	}
}

// TestErrors has the labels by which drivers know what can be sent again.
func TestErrors(t *testing.T) {
	var s *Server
	other, commit := []*wire.Statement{{}}, []*wire.Statement{{Kind: wire.Commit}}
	for _, c := range []struct {
		code  wire.Code
		of    wire.Request
		label string
	}{
		{wire.ShuttingDown, wire.Request{Statements: other}, ""}, {wire.ShuttingDown, wire.Request{Statements: other, Once: "a"}, retryable},
		{wire.NotPrimary, wire.Request{Statements: other, Session: "a"}, transient}, {wire.NotPrimary, wire.Request{Statements: commit, Session: "a"}, retryable},
		{wire.Serialization, wire.Request{Statements: commit, Session: "a"}, transient}, {wire.Deadlock, wire.Request{Statements: other, Session: "a"}, transient},
	} {
		b := s.Error(c.code, true, &c.of)
		a := read(b[bodyStart:])
		label, _ := bsoncore.Document(b[bodyStart:]).Lookup("errorLabels", "0").StringValueOK()
		if label != c.label || !a.failed || a.code == 0 || a.name == "" || a.transient != (label == transient) {
			t.Errorf("%+v gets %q, %+v", c.of, label, a)
		}
	}
}
