// Package mysql is the protocol of MySQL and MariaDB between an application and its server: what
// is passed on, and what its bytes mean.
//
// Nothing is encrypted or compressed: the server's offer of both is taken out of its greeting, the
// only bits that are changed.
package mysql

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"

	"assay/application/wire"
	"assay/driver/mysql"
	"assay/store"
)

// Server is the server behind, as an address names it.
type Server struct {
	mysql.Access
	name string
}

// New reads an address. Errors are *store.OptionError.
func New(address string) (*Server, error) {
	a, err := mysql.AccessOf(address)
	if err != nil {
		return nil, err
	}
	if a.Encrypted {
		return nil, &store.OptionError{Option: "address", Value: store.Redact(address), Want: "an address without ssl-mode and tls: assay app does not encrypt connections to MySQL and MariaDB"}
	}
	s := &Server{a, "MySQL"}
	if strings.HasPrefix(address, "mariadb:") {
		s.name = "MariaDB"
	}
	return s, nil
}

// Name is the product's.
func (s *Server) Name() string { return s.name }

// Dial implements wire.Protocol: the first host that answers.
func (s *Server) Dial(ctx context.Context) (net.Conn, error) {
	var all []error
	for _, host := range s.Hosts {
		network := "tcp"
		if strings.HasPrefix(host, "/") {
			network = "unix"
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, network, host)
		if err == nil {
			return conn, nil
		}
		all = append(all, err)
	}
	return nil, errors.Join(all...)
}

// Greet implements wire.Protocol: the server speaks first.
func (*Server) Greet(context.Context, net.Conn) ([]byte, wire.Talk, error) {
	return nil, &talk{prepared: map[uint32]*prepared{}}, nil
}

// Error implements wire.Protocol. A server that has too many connections speaks first, and knows
// of no version of the protocol yet.
func (*Server) Error(code wire.Code, _ bool) []byte {
	type known struct {
		number      uint16
		state, text string
	}
	of := map[wire.Code]known{
		wire.ShuttingDown:       {1053, "#08S01", "Server shutdown in progress"},
		wire.Deadlock:           {1213, "#40001", "Deadlock found when trying to get lock; try restarting transaction"},
		wire.Serialization:      {1213, "#40001", "Deadlock found when trying to get lock; try restarting transaction"},
		wire.TooManyConnections: {1040, "", "Too many connections"},
	}[code]
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

// Raise implements wire.Protocol: a deadlock rolls the whole transaction back (MySQL 8.4 manual,
// "InnoDB Error Handling").
func (*Server) Raise(wire.Code) string { return "" }

// ReadOnly implements wire.Protocol.
func (*Server) ReadOnly() string { return "SET SESSION TRANSACTION READ ONLY" }

// Rollback implements wire.Protocol.
func (*Server) Rollback() string { return "ROLLBACK" }

// Reach implements application.Product, with the variables of the clients.
func (s *Server) Reach() wire.Reach {
	scheme, options := strings.ToLower(s.name), ""
	if s.name == "MySQL" {
		options = "?sslMode=DISABLED&allowPublicKeyRetrieval=true"
	}
	return wire.Reach{Scheme: scheme, JDBC: scheme, JDBCOptions: options, User: s.User, Password: s.Password, Database: s.Database,
		Variables: []string{"MYSQL_HOST={host}", "MYSQL_TCP_PORT={port}", "MYSQL_PORT={port}", "MYSQL_USER=" + s.User, "MYSQL_PWD=" + s.Password,
			"MYSQL_PASSWORD=" + s.Password, "MYSQL_DATABASE=" + s.Database}}
}
