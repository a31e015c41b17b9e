package binlog

import (
	"cmp"
	"crypto/rand"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-sql-driver/mysql"

	"assay/cluster/server"
)

// UserName is the user of all servers that assay runs.
const UserName = "assay"

// Login is the user of all servers, who has all rights.
type Login struct{ User, Password string }

// NewLogin is UserName with a password; empty means a random one. It refuses several lines.
func NewLogin(password string) (Login, error) {
	if strings.ContainsAny(password, "\x00\n\r") {
		return Login{}, errors.New("a password of more than one line")
	}
	return Login{User: UserName, Password: cmp.Or(password, rand.Text())}, nil
}

// Open returns a client of one node. It does not connect yet.
func (l Login) Open(node *server.Node) (*sql.DB, error) {
	config := mysql.NewConfig()
	config.User, config.Passwd, config.Net, config.Addr = l.User, l.Password, "tcp", node.Address()
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, errors.New("the library refuses the configuration") // its error may quote the password
	}
	return sql.OpenDB(connector), nil
}

// Address is the URL of all nodes, with user and password.
func (l Login) Address(nodes []*server.Node) string {
	u := url.URL{Scheme: "mysql", User: url.UserPassword(l.User, l.Password), Host: server.Hosts(nodes), Path: "/"}
	if len(nodes) > 1 { // a silent node must not use up the time of a whole call
		u.RawQuery = "connect_timeout=2"
	}
	return u.String()
}

// WriteUsers writes the statements that make the user, between others, to a file in the node's
// folder. The server reads it before anyone can connect (init_file). The process list would show a
// password in an argument.
func (l Login) WriteUsers(node *server.Node, before, after string) (path string, err error) {
	text := before + "CREATE USER " + l.User + "@'%' IDENTIFIED BY " + Literal(l.Password) + ";\n" +
		"GRANT ALL PRIVILEGES ON *.* TO " + l.User + "@'%' WITH GRANT OPTION;\n" + after
	path = filepath.Join(node.Dir, "users.sql")
	if err := node.User.WriteFile(path, text); err != nil {
		return "", errors.Join(err, os.RemoveAll(path))
	}
	return path, nil
}

// IsError finds errors in a log. The log of the shutdown follows them.
func IsError(line string) bool { return strings.Contains(line, "[ERROR]") }
