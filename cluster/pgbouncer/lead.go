package pgbouncer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"assay/cluster/server"
	"assay/internal/wait"
)

// askBound is how long the console may take for an answer.
const askBound = time.Second

// Lead has clients led to a server, of this name, from now on. It returns at once: a pooler
// that does not answer is told when it does, and one that is down reads it at its start.
func (p *Pooler) Lead(name string, to *server.Node) {
	p.mu.Lock()
	p.behind = target{name, to, time.Now()}
	p.mu.Unlock()
	select {
	case p.told <- struct{}{}:
	default:
	}
}

// follow tells the pooler where to lead its clients, until Close.
func (p *Pooler) follow() {
	for {
		select {
		case <-p.alive.Done():
			return
		case <-p.told:
		}
		var last string
		for p.alive.Err() == nil {
			err := p.reload(p.alive)
			if err == nil {
				break
			}
			if text := err.Error(); text != last && p.alive.Err() == nil {
				last = text
				p.options.Announce("the pooler cannot be led to the primary yet: " + text)
			}
			_ = wait.Pause(p.alive, 50*time.Millisecond) // the loop sees the end
		}
	}
}

// reload has a pooler that runs read its file, and sees that it has.
func (p *Pooler) reload(ctx context.Context) error {
	to, err := p.configure()
	if err != nil || !p.Running() {
		return err
	}
	leads, err := p.leads(ctx)
	if err != nil || leads == to.at.Address() {
		return err
	}
	if _, err := p.ask(ctx, "RELOAD"); err != nil {
		return err
	}
	switch leads, err := p.leads(ctx); {
	case err != nil:
		return err
	case leads != to.at.Address():
		return fmt.Errorf("it was told to read its file again and still leads to %s", leads)
	}
	p.options.Announce(fmt.Sprintf("the pooler leads clients to %s, %d ms after it was to", to.name, time.Since(to.since).Milliseconds()))
	return nil
}

// leads asks it where it leads its clients, host:port (its manual, "SHOW DATABASES").
func (p *Pooler) leads(ctx context.Context) (string, error) {
	databases, err := p.ask(ctx, "SHOW DATABASES")
	if err != nil {
		return "", err
	}
	for _, row := range databases {
		if len(row) > 2 && row[0] == "postgres" {
			return net.JoinHostPort(row[1], row[2]), nil
		}
	}
	return "", errors.New("its console names no database postgres")
}

// ask asks the console, which knows the simple protocol alone.
func (p *Pooler) ask(ctx context.Context, text string) ([][]string, error) {
	return p.query(ctx, p.url("pgbouncer", ""), text)
}

// Ready returns when a client of it gets an answer from a server that takes writes.
func (p *Pooler) Ready(ctx context.Context) error {
	return server.Until(ctx, 50*time.Millisecond, p.Name, func(ctx context.Context) error {
		rows, err := p.query(ctx, p.Address(""), "SELECT pg_is_in_recovery()")
		if err == nil && (len(rows) != 1 || rows[0][0] != "f") {
			err = errors.New("it leads to a standby")
		}
		return err
	})
}

// query returns the rows of one statement. The library's error about a connection tells too
// much: it may quote the address.
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
