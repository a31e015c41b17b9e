package mongodb

import (
	"context"
	"net"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/application/wire"
	"assay/application/wire/wiretest"
	"assay/internal/expect"
)

// answering is a protocol whose server answers hello, and then by these documents in turn.
type answering struct {
	*Server
	answers []bson.D
}

// Dial implements wire.Protocol.
func (s answering) Dial(context.Context) (net.Conn, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return nil, err
	}
	server, err := listener.Accept()
	if err != nil {
		return nil, err
	}
	go func() {
		defer server.Close()
		for _, answer := range append([]bson.D{{{Key: "ok", Value: 1}}}, s.answers...) {
			if _, err := readMessage(server); err != nil {
				return
			}
			b, _ := bson.Marshal(answer)
			if _, err := server.Write(message(0, b)); err != nil {
				return
			}
		}
		_, _ = readMessage(server) // until the other side ends
	}()
	return conn, nil
}

// TestDoubtfulAnswers has an answer that leaves open whether a change stays be no acknowledgement and
// no refusal: one without the write concern that was asked for, as from a primary that steps down
// while it waits for a majority (manual 8.0, "Write Concern"), and errors that come after the
// change, too.
func TestDoubtfulAnswers(t *testing.T) {
	type d = bson.D
	ok, inserted := d{{Key: "ok", Value: 1}}, d{{Key: "n", Value: 1}, {Key: "ok", Value: 1}}
	unmet := d{{Key: "n", Value: 1}, {Key: "ok", Value: 1}, {Key: "writeConcernError", Value: d{{Key: "code", Value: 11602}, {Key: "errmsg", Value: "operation was interrupted"}}}}
	failed := func(code int, labels ...string) d {
		return d{{Key: "ok", Value: 0}, {Key: "code", Value: code}, {Key: "errmsg", Value: "it is so"}, {Key: "errorLabels", Value: labels}}
	}
	insert := d{{Key: "insert", Value: "sale"}, {Key: "documents", Value: bson.A{d{{Key: "_id", Value: 1}}}}, {Key: "$db", Value: "shop"}}
	session := d{{Key: "lsid", Value: d{{Key: "id", Value: 7}}}, {Key: "txnNumber", Value: int64(1)}, {Key: "autocommit", Value: false}}
	within := append(insert[:len(insert):len(insert)], session...)
	commit := append(d{{Key: "commitTransaction", Value: 1}, {Key: "$db", Value: "admin"}}, session...)
	for name, c := range map[string]struct {
		commands, answers []bson.D
		want              wire.Outcome
	}{
		"an insert":                              {[]d{insert}, []d{inserted}, wire.Committed},
		"without its write concern":              {[]d{insert}, []d{unmet}, wire.Unknown},
		"interrupted":                            {[]d{insert}, []d{failed(11602)}, wire.Unknown},
		"interrupted before it":                  {[]d{insert}, []d{failed(11602, "NoWritesPerformed")}, wire.Refused},
		"no primary":                             {[]d{insert}, []d{failed(10107)}, wire.Refused},
		"a transaction":                          {[]d{within, commit}, []d{inserted, ok}, wire.Committed},
		"a commit without its write concern":     {[]d{within, commit}, []d{inserted, unmet}, wire.Unknown},
		"the same, and again":                    {[]d{within, commit, commit}, []d{inserted, unmet, ok}, wire.Committed},
		"a commit that took too long":            {[]d{within, commit}, []d{inserted, failed(50)}, wire.Unknown},
		"a commit that can be sent again":        {[]d{within, commit}, []d{inserted, failed(11602, retryable)}, wire.Unknown},
		"a commit of what was aborted":           {[]d{within, commit}, []d{inserted, failed(251, transient)}, wire.Refused},
		"a transaction that its client has left": {[]d{within}, []d{inserted}, wire.Abandoned},
	} {
		t.Run(name, func(t *testing.T) {
			product, err := New("mongodb://127.0.0.1:1/shop?directConnection=true")
			expect.NoError(t, err)
			proxy := wiretest.Listen(t, answering{product, c.answers})
			conn, err := net.Dial("tcp", proxy.Address())
			expect.NoError(t, err)
			for _, command := range append([]bson.D{{{Key: "hello", Value: 1}, {Key: "$db", Value: "admin"}}}, c.commands...) {
				b, err := bson.Marshal(command)
				expect.NoError(t, err)
				_, err = conn.Write(message(0, b))
				expect.NoError(t, err)
				_, err = readMessage(conn)
				expect.NoError(t, err)
			}
			expect.NoError(t, conn.Close(), proxy.Quiet(t.Context()), proxy.Recorder().Problem())
			all, _ := proxy.Recorder().Transactions()
			if len(all) != 1 || all[0].Outcome != c.want {
				t.Fatalf("%d transactions, the first %s, want one %s", len(all), all[0].Outcome, c.want)
			}
		})
	}
}
