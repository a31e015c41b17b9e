// Package postgres is PostgreSQL's protocol between an application and its server: what is
// passed on, and what its bytes mean.
//
// The application's side is encrypted if it asks for that. SCRAM must bind no login to a certificate,
// which is another one on either side, so the server's offer of that is made one that nobody knows,
// the only bytes that are changed.
package postgres

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"assay/application/wire"
	"assay/driver/postgres"
)

// Server is the server behind, as an address names it.
type Server struct{ config *pgconn.Config }

// New reads an address. Errors are *store.OptionError.
func New(address string) (*Server, error) {
	config, err := postgres.Configuration(address)
	if err != nil {
		return nil, err
	}
	return &Server{config}, nil
}

// stolen is what a connection leaves behind that was taken before the login.
type stolen struct{ net.Conn }

func (stolen) Close() error { return nil }

var errStolen = errors.New("taken")

// Dial implements wire.Protocol, by what the library knows of addresses and encryption. Of
// several servers it takes the one that the address wants.
func (s *Server) Dial(ctx context.Context) (net.Conn, error) {
	config := s.config.Copy()
	if err := s.choose(ctx, config); err != nil {
		return nil, err
	}
	var taken net.Conn
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if taken != nil {
			return nil, errStolen
		}
		return dial(ctx, network, address)
	}
	config.AfterNetConnect = func(ctx context.Context, _ *pgconn.Config, conn net.Conn) (net.Conn, error) {
		if encrypted, is := conn.(*tls.Conn); is {
			if err := encrypted.HandshakeContext(ctx); err != nil {
				return conn, err
			}
		}
		taken = conn
		return stolen{conn}, errStolen
	}
	_, err := pgconn.ConnectConfig(ctx, config)
	if taken == nil {
		return nil, err
	}
	return taken, nil
}

// choose leaves the server that a login finds to be the one that the address wants.
func (s *Server) choose(ctx context.Context, config *pgconn.Config) error {
	several := false
	for _, way := range config.Fallbacks {
		several = several || way.Host != config.Host || way.Port != config.Port
	}
	if !several {
		return nil
	}
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	host, port, err := net.SplitHostPort(conn.Conn().RemoteAddr().String())
	if err != nil {
		return err
	}
	dial := config.DialFunc
	config.Fallbacks, config.ValidateConnect = nil, nil
	config.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dial(ctx, "tcp", net.JoinHostPort(host, port))
	}
	return nil
}

// The codes of what a client can send first (manual 18, "Message Formats").
const (
	codeCancel  = 80877102
	codeSSL     = 80877103
	codeGSS     = 80877104
	codeVersion = 3 << 16
	maxStartup  = 10_000
)

// protocolName is the protocol's within TLS (manual 18, "SSL Session Encryption").
const protocolName = "postgresql"

// Greet implements wire.Protocol. A request to cancel is handed over.
func (s *Server) Greet(ctx context.Context, app *wire.App) ([]byte, wire.Talk, error) {
	for {
		head, err := app.First(8, protocolName)
		switch {
		case err != nil && len(head) > 0:
			return nil, nil, notSpoken(head)
		case err != nil: // somebody who looked whether it listens, or refuses the certificate
			return nil, nil, err
		}
		size, code := int(binary.BigEndian.Uint32(head)), binary.BigEndian.Uint32(head[4:])
		if code == codeGSS || code == codeSSL && !app.Encrypted() {
			if err := encrypt(app, code); err != nil {
				return nil, nil, err
			}
			continue
		}
		if size < len(head) || size > maxStartup || code != codeCancel && code>>16 != codeVersion>>16 {
			return nil, nil, notSpoken(head)
		}
		message := append(head, make([]byte, size-len(head))...)
		if _, err := io.ReadFull(app, message[len(head):]); err != nil {
			return nil, nil, err
		}
		if code != codeCancel {
			return message, &talk{login: login(message)}, nil
		}
		return nil, nil, s.cancel(ctx, message)
	}
}

// cancelTime bounds how long a server may take to read a request to cancel. One that is frozen, or has
// gone without a farewell, never closes the connection.
const cancelTime = 10 * time.Second

// cancel hands a request to cancel over.
func (s *Server) cancel(ctx context.Context, message []byte) error {
	ctx, stop := context.WithTimeout(ctx, cancelTime)
	defer stop()
	server, err := s.Dial(ctx)
	if err != nil {
		return &wire.AwayError{Err: fmt.Errorf("the server, for a request to cancel: %w", err)}
	}
	defer server.Close()
	closing := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer closing()
	_, err = server.Write(message)
	_, _ = io.Copy(io.Discard, server) // which closes when it is done
	return err
}

// encrypt answers who asks for that: by TLS, and by nothing else.
func encrypt(app *wire.App, code uint32) error {
	if code != codeSSL {
		_, err := app.Write([]byte{'N'})
		return err
	}
	if _, err := app.Write([]byte{'S'}); err != nil {
		return err
	}
	return app.Encrypt(nil, protocolName)
}

func notSpoken(head []byte) error {
	return fmt.Errorf("a client does not speak PostgreSQL's protocol: it begins with %q; give it the address that assay listens at as postgres://", head)
}

// Error implements wire.Protocol, with the words of PostgreSQL 15.
func (*Server) Error(code wire.Code, fatal bool, _ *wire.Request) []byte {
	known, is := map[wire.Code]pgproto3.ErrorResponse{
		wire.ShuttingDown:       {Code: "57P01", Message: "terminating connection due to administrator command"},
		wire.Deadlock:           {Code: "40P01", Message: "deadlock detected"},
		wire.Serialization:      {Code: "40001", Message: "could not serialize access due to read/write dependencies among transactions"},
		wire.TooManyConnections: {Code: "53300", Message: "sorry, too many clients already"},
	}[code]
	if !is {
		return nil
	}
	known.Severity = map[bool]string{true: "FATAL", false: "ERROR"}[fatal]
	known.SeverityUnlocalized = known.Severity
	out, _ := known.Encode(nil) // it fails at texts of gigabytes
	if !fatal {
		out, _ = (&pgproto3.ReadyForQuery{TxStatus: 'I'}).Encode(out)
	}
	return out
}

// Words implements wire.Protocol: the server itself gives errors, and its transaction fails.
func (*Server) Words() wire.Words {
	raise := func(state string) string {
		return "DO $assay$ BEGIN RAISE EXCEPTION 'given by assay in the place of a statement' USING ERRCODE = '" + state + "'; END $assay$"
	}
	return wire.Words{Raise: map[wire.Code]string{wire.Deadlock: raise("40P01"), wire.Serialization: raise("40001")},
		Restrict: restricted, Rollback: "ROLLBACK"}
}

// restricted is a startup message by which transactions only read, as a standby's do: the server tells clients
// that look for a primary, and no RESET takes it back (manual 18, "Client Connection Defaults").
func restricted(startup []byte) []byte {
	out := append(slices.Clone(startup[:len(startup)-1]), "default_transaction_read_only\x00on\x00\x00"...)
	binary.BigEndian.PutUint32(out, uint32(len(out)))
	return out
}

// Possible implements wire.Protocol.
func (*Server) Possible(wire.Action, *wire.Place) bool { return true }

// Reach implements application.Product, with libpq's variables.
func (s *Server) Reach() wire.Reach {
	c := s.config
	return wire.Reach{Product: "PostgreSQL", Scheme: "postgres", JDBC: "postgresql", Options: "?sslmode=disable", JDBCOptions: "?sslmode=disable", User: c.User, Password: c.Password, Database: c.Database,
		Variables: []string{"PGHOST={host}", "PGHOSTADDR=", "PGPORT={port}", "PGUSER=" + c.User, "PGPASSWORD=" + c.Password, "PGDATABASE=" + c.Database,
			"PGSSLMODE=disable", "PGSSLROOTCERT={ca}", "PGGSSENCMODE=disable", "PGCHANNELBINDING=disable", "PGTARGETSESSIONATTRS=any"}}
}
