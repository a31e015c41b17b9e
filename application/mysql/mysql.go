// Package mysql is the protocol of MySQL and MariaDB between an application and its server: what
// is passed on, and what its bytes mean.
//
// assay offers the application encryption by a certificate of its own, whatever the server offers, and
// no compression. On either side that is encrypted, the login has one packet more.
package mysql

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"assay/application/wire"
	"assay/driver/mysql"
)

// Server is the server behind, as an address names it.
type Server struct {
	mysql.Access
	name string
	// maria is true once a server has said that it is MariaDB.
	maria atomic.Bool
}

// New reads an address. Errors are *store.OptionError.
func New(address string) (*Server, error) {
	a, err := mysql.AccessOf(address)
	if err != nil {
		return nil, err
	}
	s := &Server{Access: a, name: "MySQL"}
	if strings.HasPrefix(address, "mariadb:") {
		s.name = "MariaDB"
	}
	return s, nil
}

// Dial implements wire.Protocol: the first host that answers. One that is silent leaves the others their
// share of the time.
func (s *Server) Dial(ctx context.Context) (net.Conn, error) {
	var all []error
	for i, host := range s.Hosts {
		conn, err := s.dial(ctx, host, len(s.Hosts)-i)
		switch {
		case err == nil && s.TLS == nil:
			return conn, nil
		case err == nil:
			config := s.TLS.Clone()
			config.ServerName, _, _ = net.SplitHostPort(host)
			return encrypt(conn, s, config), nil
		}
		all = append(all, err)
	}
	return nil, errors.Join(all...)
}

// dial connects to one of so many hosts that are left.
func (s *Server) dial(ctx context.Context, host string, left int) (net.Conn, error) {
	most := s.ConnectTimeout
	if end, is := ctx.Deadline(); is {
		most = min(most, time.Until(end)/time.Duration(left))
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return (&net.Dialer{}).DialContext(ctx, mysql.NetworkOf(host), host)
}

// Greet implements wire.Protocol: the server speaks first.
func (s *Server) Greet(context.Context, *wire.App) ([]byte, wire.Talk, error) {
	return nil, &talk{server: s, prepared: map[uint32]*prepared{}}, nil
}

// Error implements wire.Protocol. A server that has too many connections speaks first, and knows
// of no version of the protocol yet.
func (*Server) Error(code wire.Code, _ bool, _ *wire.Request) []byte {
	type known struct {
		number      uint16
		state, text string
	}
	of, is := map[wire.Code]known{
		wire.ShuttingDown:       {1053, "#08S01", "Server shutdown in progress"},
		wire.Deadlock:           {1213, "#40001", "Deadlock found when trying to get lock; try restarting transaction"},
		wire.Serialization:      {1213, "#40001", "Deadlock found when trying to get lock; try restarting transaction"},
		wire.TooManyConnections: {1040, "", "Too many connections"},
	}[code]
	if !is {
		return nil
	}
	content := append(binary.LittleEndian.AppendUint16([]byte{errorPacket}, of.number), of.state+of.text...)
	sequence := byte(1)
	if code == wire.TooManyConnections {
		sequence = 0
	}
	return packet(sequence, content)
}

func packet(sequence byte, content []byte) []byte {
	n := len(content)
	return append([]byte{byte(n), byte(n >> 8), byte(n >> 16), sequence}, content...)
}

// Words implements wire.Protocol: a deadlock rolls the whole transaction back (MySQL 8.4 manual,
// "InnoDB Error Handling").
func (*Server) Words() wire.Words {
	return wire.Words{ReadOnly: "SET SESSION TRANSACTION READ ONLY", Rollback: "ROLLBACK", BeginCommits: true}
}

// Possible implements wire.Protocol.
func (*Server) Possible(wire.Action, *wire.Place) bool { return true }

// Reach implements application.Product, with the variables of the clients.
func (s *Server) Reach() wire.Reach {
	scheme, options := strings.ToLower(s.name), ""
	if s.name == "MySQL" {
		options = "?sslMode=DISABLED&allowPublicKeyRetrieval=true"
	}
	product := s.name
	if s.maria.Load() {
		product = "MariaDB"
	}
	return wire.Reach{Product: product, Scheme: scheme, JDBC: scheme, JDBCOptions: options, User: s.User, Password: s.Password, Database: s.Database,
		Variables: []string{"MYSQL_HOST={host}", "MYSQL_TCP_PORT={port}", "MYSQL_PORT={port}", "MYSQL_USER=" + s.User, "MYSQL_PWD=" + s.Password,
			"MYSQL_PASSWORD=" + s.Password, "MYSQL_DATABASE=" + s.Database}}
}
