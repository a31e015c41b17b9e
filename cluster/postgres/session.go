package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

const askBound = time.Second

// InSession runs f in a session of its own with the server at an address; bound limits all of it.
// It replaces the library's connection error, which may quote the address with its password.
func InSession(ctx context.Context, address string, bound time.Duration, f func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return errors.New("it does not answer")
	}
	defer closeSession(conn)
	return f(ctx, conn)
}

func closeSession(conn *pgx.Conn) {
	const bound = 200 * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	_ = conn.Close(ctx) // nothing depends on how it ends
}

// Parameter asks the server for the value of a parameter in new sessions.
func (p *Server) Parameter(ctx context.Context, name string) (value string, err error) {
	err = InSession(ctx, p.Address(), askBound, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&value)
	})
	return value, err
}
