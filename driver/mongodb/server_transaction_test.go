package mongodb

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"

	cluster "assay/cluster/mongodb"
	"assay/internal/expect"
	"assay/workload/bank"
)

// TestTransactionCommands: only the first command begins the transaction, and each has its number.
func TestTransactionCommands(t *testing.T) {
	t.Parallel()
	d := &deployment{sockets: newSockets(nil)}
	x := &serverTransaction{deployment: d, session: &serverSession{id: uuid.New()}, readConcern: readconcern.Snapshot()}
	within := bson.D{{Key: "lsid", Value: lsid(x.session.id)}, {Key: "txnNumber", Value: int64(1)}, {Key: "autocommit", Value: false}, {Key: "$db", Value: "bank"}}
	begins := bson.D{{Key: "startTransaction", Value: true}, {Key: "readConcern", Value: bson.D{{Key: "level", Value: "snapshot"}}}}
	time := bson.E{Key: "$clusterTime", Value: bson.D{{Key: "clusterTime", Value: bson.Timestamp{T: 7, I: 1}}}}
	x.session.number++
	for _, command := range []bson.D{
		{{Key: "insert", Value: "account"}, {Key: "documents", Value: bson.A{byID(int64(1))}}},
		{{Key: "find", Value: "account"}, {Key: "limit", Value: int64(math.MaxInt32 + 1)}, {Key: "filter", Value: byID(bson.A{[]string{"unknown here"}})}},
	} {
		expect.NoError(t, x.write("bank", command))
		want := slices.Concat(command, begins, within)
		if x.open {
			want = append(slices.Concat(command, within), time)
		}
		encoded, err := bson.Marshal(want)
		expect.NoError(t, err)
		shouldBe(t, bson.Raw(x.bytes[bodyStart:]).String(), bson.Raw(encoded).String(), "what the server reads")
		shouldBe(t, len(mustMessage(t, want)), len(x.bytes), "bytes of a command")
		_, err = d.sockets.time.answer(mustMessage(t, bson.D{{Key: "ok", Value: 1.0}, time}))
		expect.NoError(t, err)
		x.open = true
	}
}

// TestAnswers: what replies tell are the errors that the library's own commands have.
func TestAnswers(t *testing.T) {
	t.Parallel()
	ok, failed := bson.E{Key: "ok", Value: 1.0}, bson.E{Key: "ok", Value: 0.0}
	unmet := bson.E{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: 64}, {Key: "errmsg", Value: "waiting"}}}
	labels := bson.E{Key: "errorLabels", Value: bson.A{labelTransient}}
	key := bson.D{{Key: "index", Value: 0}, {Key: "code", Value: codeDuplicateKey}, {Key: "keyValue", Value: byID(int64(7))}}
	writes := bson.E{Key: "writeErrors", Value: bson.A{key}}
	for _, test := range []struct {
		reply     bson.D
		code      int // 0 without an error
		transient bool
		unmet     bool
	}{
		{reply: bson.D{{Key: "n", Value: 1}, ok}},
		{reply: bson.D{{Key: "n", Value: 1}, {Key: "ok", Value: int32(1)}}},
		{reply: bson.D{ok, unmet}, code: 64, unmet: true},
		{reply: bson.D{unmet, ok}, code: 64, unmet: true},
		{reply: bson.D{writes, ok}, code: codeDuplicateKey},
		{reply: bson.D{ok, writes, unmet}, code: codeDuplicateKey, unmet: true},
		{reply: bson.D{failed, {Key: "code", Value: 112}, labels}, code: 112, transient: true},
		{reply: bson.D{{Key: "code", Value: codeMaxTimeMSExpired}, failed, unmet}, code: codeMaxTimeMSExpired, unmet: true},
	} {
		answer, err := new(clusterTime).answer(mustMessage(t, test.reply))
		err = libraryError(err)
		code, answered := serverCode(err)
		if answered != (test.code != 0) || code != test.code || hasLabel(err, labelTransient) != test.transient || hasWriteConcernError(err) != test.unmet {
			t.Errorf("%v: %v (code %d)", test.reply, err, code)
		}
		if test.code == 0 && numberIn(answer, "n") != 1 {
			t.Errorf("%v: %v", test.reply, answer)
		}
		if found, told := duplicateKey(err); told != (test.code == codeDuplicateKey) || told && found[0].Value != int64(7) {
			t.Errorf("%v: key %v", test.reply, found)
		}
		if mongo.IsTimeout(err) != (test.code == codeMaxTimeMSExpired) {
			t.Errorf("%v: %v is a timeout, or none", test.reply, err)
		}
	}
	for name, spoil := range map[string]func([]byte){
		"a checksum": func(m []byte) { m[16] = 1 },
		"an element": func(m []byte) { m[bodyStart+4] = 0x02 },
		"a length":   func(m []byte) { m[bodyStart] = 255 },
	} {
		message := mustMessage(t, bson.D{ok})
		spoil(message)
		if answer, err := new(clusterTime).answer(message); err == nil {
			t.Errorf("%s that is wrong: %v", name, answer)
		}
	}
}

// TestSessionsWait: a session is used again only without an open transaction, and not after long.
func TestSessionsWait(t *testing.T) {
	t.Parallel()
	d := &database{connection: new(connection)}
	x := &transactor{db: d}
	first := x.begin(t.Context()).of.session
	shouldBe(t, first.number, int64(1), "the first transaction")
	shouldBe(t, x.begin(t.Context()).of.session, first, "the session of the next")
	x.leave(false)
	shouldBe(t, x.begin(t.Context()).of.session, first, "the session of one of which nothing was sent")
	shouldBe(t, first.number, int64(3), "the third transaction")
	x.leave(true)
	if again := x.begin(t.Context()).of.session; again == first || again.id == first.id {
		t.Error("the session of an open transaction is used again")
	}
	shouldBe(t, d.abandoned, []*serverSession{first}, "sessions to be aborted")
	second := x.of.session
	x.Close()
	if third := d.takeSession(second.begun.Add(sessionLife)); third.id == second.id {
		t.Error("a session that the server may have ended is used again")
	}
}

// TestTransactionsChooseTheirServer: one that was the primary may be none any more.
func TestTransactionsChooseTheirServer(t *testing.T) {
	t.Parallel()
	x := &transactor{db: &database{connection: new(connection)}}
	x.of.server = new(chosen)
	shouldBe(t, x.begin(t.Context()).of.server, nil, "the server of a new transaction")
}

// testCursor reads in answers of two documents, ends in the middle, and commits all the same.
func testCursor(t *testing.T, set *cluster.ReplicaSet) {
	db, _ := loaded(t, set, 100, 200, 300, 400, 500)
	x, err := db.transactor(expect.Patiently(t))
	expect.NoError(t, err)
	defer x.Close()
	enough := errors.New("enough")
	for _, wanted := range []int{5, 3} {
		var balances []int64
		reply := x.transact(expect.Patiently(t), func(s steps) error {
			err := db.place(db.database.database, "account").find(s, query{sort: ascending("_id"), batch: 2, filter: bson.D{}}, func(document bson.Raw) error {
				if balances = append(balances, document.Lookup("balance").Int64()); len(balances) == wanted {
					return enough
				}
				return nil
			})
			if !errors.Is(err, enough) {
				t.Errorf("the callback's error is %v", err)
			}
			return nil
		})
		expect.NoError(t, reply.Err)
		shouldBe(t, balances, []int64{100, 200, 300, 400, 500}[:wanted], "balances")
	}
	open := bson.A{bson.D{{Key: "$currentOp", Value: bson.D{{Key: "idleCursors", Value: true}}}},
		match(bson.D{{Key: "type", Value: "idleCursor"}, {Key: "ns", Value: "assay_bank.account"}})}
	cursor, err := db.admin.Aggregate(expect.Patiently(t), open)
	expect.NoError(t, err)
	if cursor.Next(expect.Patiently(t)) {
		t.Errorf("a cursor is open: %v", cursor.Current)
	}
}

// testSessionsEnd: sessions that wait are ended when a database is closed, those of the library by a command of its own.
func testSessionsEnd(t *testing.T, set *cluster.ReplicaSet) {
	_, ledger := loaded(t, set, 100, 100)
	opened := mustOpen(t, set.Address())
	session := mustSession(t, opened)
	mustCommit(t, session, ledger, bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 10})
	session.Close()
	shouldBe(t, len(opened.idle), 1, "sessions that wait")
	client := plainClient(t, set.Address())
	commands := func() (n [2]int64) {
		t.Helper()
		status, err := client.Database("admin").RunCommand(expect.Patiently(t), bson.D{{Key: "serverStatus", Value: 1}}).Raw()
		expect.NoError(t, err)
		for i, name := range []string{"total", "failed"} {
			n[i] = numberIn(status, "metrics", "commands", "endSessions", name)
		}
		return n
	}
	before := commands()
	expect.NoError(t, opened.Close())
	after := commands()
	shouldBe(t, after, [2]int64{before[0] + 2, before[1]}, "commands that end sessions, and those of them that failed")
}

// testCompressed has the commands of transactions compressed.
func testCompressed(t *testing.T, set *cluster.ReplicaSet) {
	_, ledger := loaded(t, set, 100, 100)
	client := plainClient(t, set.Address())
	compressed := func() int64 {
		t.Helper()
		status, err := client.Database("admin").RunCommand(expect.Patiently(t), bson.D{{Key: "serverStatus", Value: 1}}).Raw()
		expect.NoError(t, err)
		return numberIn(status, "network", "compression", "zlib", "decompressor", "bytesIn")
	}
	opened := closing(t, mustOpen(t, set.Address()+"&compressors=zlib"))
	session := mustSession(t, opened)
	before := compressed()
	mustCommit(t, session, ledger, bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 10})
	if n := compressed() - before; n == 0 {
		t.Error("nothing was compressed")
	}
	ledger.Check(expect.Patiently(t), t, opened.Store)
	half := mustMessage(t, bson.D{})[:bodyStart]
	binary.LittleEndian.PutUint32(half[12:], uint32(wiremessage.OpCompressed))
	if _, err := uncompressed(half); err == nil {
		t.Error("half a compressed message is whole")
	}
}
