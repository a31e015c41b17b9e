package pgbouncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"assay/cluster/server"
)

const askBound = time.Second

// ask asks the console, which knows only the simple protocol.
func (p *Pooler) ask(ctx context.Context, text string) ([][]string, error) {
	return p.query(ctx, p.url("pgbouncer", ""), text)
}

// Ready returns when a client of the pooler gets an answer from a server that takes writes.
func (p *Pooler) Ready(ctx context.Context) error {
	return server.Until(ctx, 50*time.Millisecond, p.Name, func(ctx context.Context) error {
		rows, err := p.query(ctx, p.Address(""), "SELECT pg_is_in_recovery()")
		if err == nil && (len(rows) != 1 || rows[0][0] != "f") {
			err = errors.New("it leads to a standby")
		}
		return err
	})
}

// query replaces the library's connection error, which may quote the address with its password.
func (p *Pooler) query(ctx context.Context, address, text string) (rows [][]string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	conn, err := pgconn.Connect(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("%s does not let user %s in", p.Name, p.options.User)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), askBound)
		defer cancel()
		_ = conn.Close(closing) // nothing depends on how it ends
	}()
	results, err := conn.Exec(ctx, text).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s to %s: %w", text, p.Name, err)
	}
	for _, result := range results {
		for _, row := range result.Rows {
			var values []string
			for _, value := range row {
				values = append(values, string(value))
			}
			rows = append(rows, values)
		}
	}
	return rows, nil
}
