package nodes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"assay/cluster/server"
	"assay/store"
)

// Account opens the database's own statistics. Without them, account is nil and why names the
// product and the reason.
type Account func(ctx context.Context) (account store.Statistics, why string)

// primaryAsker asks the database, over its own connection, which server takes writes. It is
// safe for concurrent use.
type primaryAsker struct {
	open Account

	mu      sync.Mutex
	account store.Statistics
}

const askBound = 3 * time.Second

func (p *primaryAsker) ask(ctx context.Context) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.account == nil {
		var why string
		if p.account, why = p.open(ctx); p.account == nil {
			return "", &server.NoPrimaryError{Product: why}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	reading, err := p.account.Read(ctx)
	if err != nil { // a hung question is not repeated
		p.account.Close()
		p.account = nil
		return "", fmt.Errorf("ask the database who takes writes: %w", err)
	}
	name, _, _ := strings.Cut(reading.Server, " ")
	if name == "" {
		return "", errors.New("the database does not say by which of its servers it answers")
	}
	return name, nil
}

func (p *primaryAsker) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.account != nil {
		p.account.Close()
		p.account = nil
	}
	return nil
}
