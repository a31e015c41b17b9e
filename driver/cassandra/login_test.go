package cassandra

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
)

// guarded demands a user and refuses each, in the words of native_protocol_v4.spec.
func guarded(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go guard(conn)
		}
	}()
	return listener.Addr().String()
}

func guard(conn net.Conn) {
	defer conn.Close()
	const opError, opStartup, opAuthenticate, opOptions, opSupported = 0x00, 0x01, 0x03, 0x05, 0x06
	const version = 4
	header := make([]byte, 9)
	for {
		if _, err := io.ReadFull(conn, header); err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(header[5:]))); err != nil {
			return
		}
		op, body := byte(opError), binary.BigEndian.AppendUint32(nil, gocql.ErrCodeCredentials)
		switch {
		case header[0] > version:
			body = text(binary.BigEndian.AppendUint32(nil, gocql.ErrCodeProtocol), "Invalid or unsupported protocol version")
		case header[4] == opOptions:
			op, body = opSupported, []byte{0, 0}
		case header[4] == opStartup:
			op, body = opAuthenticate, text(nil, "PasswordAuthenticator")
		default:
			body = text(body, "no such user here")
		}
		answer := append([]byte{header[0] | 0x80, 0, header[2], header[3], op}, binary.BigEndian.AppendUint32(nil, uint32(len(body)))...)
		if _, err := conn.Write(append(answer, body...)); err != nil {
			return
		}
	}
}

func text(to []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(to, uint16(len(s))), s...)
}

func TestRefusedUsers(t *testing.T) {
	server := guarded(t)
	for address, words := range map[string][2]string{
		"cassandra://" + server + "/":                  {"", "the address names none"},
		"cassandra://somebody:hunter2@" + server + "/": {"somebody", ""},
	} {
		_, err := openRows(t.Context(), store.Target{Address: address, ConnectTimeout: time.Minute})
		var refused *store.AuthError
		if !errors.As(err, &refused) || refused.User != words[0] || !strings.Contains(refused.Reason, words[1]) {
			t.Errorf("%s: %v; want *store.AuthError", address, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v shows the password", err)
		}
	}
}

func TestNobodyThere(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	closed := listener.Addr().String()
	listener.Close()
	silent := drivertest.NewProxy(t, closed)
	silent.Freeze()
	for name, host := range map[string]string{"closed": closed, "silent": silent.Addr(), "no such name": "nowhere.invalid:9042"} {
		t.Run(name, func(t *testing.T) {
			_, err := openRows(t.Context(), store.Target{Address: "cassandra://u:hunter2@" + host, ConnectTimeout: 500 * time.Millisecond})
			var unreachable *store.UnreachableError
			if !errors.As(err, &unreachable) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v; want *store.UnreachableError", err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := openRows(ctx, store.Target{Address: "cassandra://" + silent.Addr()}); err == nil {
		t.Error("opened although the context was over")
	}
}
