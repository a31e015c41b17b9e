package mongodb

import (
	"net"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/application/wire/wiretest"
	"assay/internal/expect"
)

// TestASilentMember leaves the others time.
func TestASilentMember(t *testing.T) {
	t.Parallel()
	second := primary(t)
	product, err := New("mongodb://" + wiretest.Silent(t) + "," + second + "/?replicaSet=rs0")
	expect.NoError(t, err)
	ctx := expect.Within(t, time.Minute)
	conn, err := product.Dial(ctx)
	for err != nil && ctx.Err() == nil { // on a busy machine the second may be late, too
		conn, err = product.Dial(ctx)
	}
	expect.NoError(t, err)
	if got := conn.RemoteAddr().String(); got != second {
		t.Errorf("it connects to %s", got)
	}
	expect.NoError(t, conn.Close())
}

// primary is the address of a server that says that it takes writes. It ends with the test.
func primary(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	hello, err := bson.Marshal(bson.D{{Key: "isWritablePrimary", Value: true}, {Key: "ok", Value: 1}})
	expect.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			if _, err := readMessage(conn); err == nil {
				_, _ = conn.Write(message(0, hello)) // who asks may have gone
			}
			_ = conn.Close()
		}
	}()
	expect.AtEnd(t, func() error { err := listener.Close(); <-ended; return err })
	return listener.Addr().String()
}
