package mysql

import (
	"context"
	"database/sql/driver"
	"fmt"

	library "github.com/go-sql-driver/mysql"

	"assay/driver/sqldb"
)

// conn is one connection, used by one goroutine at a time. A context that ends closes
// it; what was sent may go on in the server.
type conn struct {
	sqldb.StandardConn
	host *host
	look look
	// encrypted is true if a TLS handshake was completed.
	encrypted bool
}

var _ sqldb.Conn = (*conn)(nil)

// standard is a connection of the library's, whose parameters are written into the
// statements.
func standard(raw driver.Conn) sqldb.StandardConn {
	return sqldb.StandardConn{Raw: raw, Parameter: appendValue, Format: sqldb.StandardFormat(readElements)}
}

// pairs runs a query whose rows are a name and a value, such as SHOW VARIABLES.
func (c *conn) pairs(ctx context.Context, query string) (map[string]string, error) {
	values := make(map[string]string)
	err := c.Values(ctx, func(row []driver.Value) error {
		if len(row) != 2 {
			return fmt.Errorf("a row of %d columns came where two were asked for", len(row))
		}
		values[sqldb.TextOf(row[0])] = sqldb.TextOf(row[1])
		return nil
	}, query)
	return values, err
}

// baseConfig is the configuration that all connections share.
func baseConfig() *library.Config {
	config := library.NewConfig()
	config.Logger = &library.NopLogger{}
	config.MultiStatements, config.InterpolateParams = true, true
	return config
}
