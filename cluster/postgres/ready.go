package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// serverState is how far a server has come.
type serverState int

const (
	// stateSilent: nobody answers.
	stateSilent serverState = iota
	// stateAnswers: the server is there and refuses connections (57P03: it
	// starts up, recovers, or shuts down).
	stateAnswers
	// stateReady: the server accepts connections.
	stateReady
)

// cannotConnectNow is the SQLSTATE of a server that starts up, recovers or
// shuts down (PostgreSQL manual, appendix A).
const cannotConnectNow = "57P03"

// askState asks the server for its state as pg_isready does: it opens a
// connection and looks at the first answer (PostgreSQL manual, "Frontend/Backend
// Protocol", Start-up). A server that wants to see a password accepts
// connections. The error says what came instead of that. It waits as long as ctx
// lets it.
func askState(ctx context.Context, address, user string) (serverState, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return stateSilent, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	frontend := pgproto3.NewFrontend(conn, conn)
	frontend.SetMaxBodyLen(16 << 10) // whoever answers with more is not a server that greets us
	frontend.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30,
		Parameters: map[string]string{"user": user, "database": "postgres"}})
	if err := frontend.Flush(); err != nil {
		return stateSilent, err
	}
	message, err := frontend.Receive()
	if err != nil {
		return stateSilent, err
	}
	switch m := message.(type) {
	case pgproto3.AuthenticationResponseMessage:
		return stateReady, nil
	case *pgproto3.ErrorResponse:
		if m.Code == cannotConnectNow {
			return stateAnswers, errors.New(m.Message)
		}
		// Any other refusal (too many clients) comes from a server that is up.
		return stateReady, nil
	default:
		return stateSilent, fmt.Errorf("whoever listens on %s is not PostgreSQL", address)
	}
}
