package patroni

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// CheckReplace is nil: Patroni has a node without data copy the leader (its manual, "Replica
// imaging and bootstrap").
func (s *Set) CheckReplace() error { return nil }

// CheckSwitchOver is nil: Patroni can always be asked.
func (s *Set) CheckSwitchOver() error { return nil }

const switchOverBound = 2 * time.Minute

// SwitchOver sends the REST request of `patronictl switchover` from node i (manual, "Patroni REST
// API", "Switchover and failover endpoints").
func (s *Set) SwitchOver(ctx context.Context, i int) error {
	ctx, cancel := context.WithTimeout(ctx, switchOverBound)
	defer cancel()
	at := s.at(i, "/switchover")
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, at.String(), strings.NewReader(fmt.Sprintf(`{"leader": %q}`, s.Name(i))))
	if err != nil {
		return err
	}
	answer, err := direct.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	const most = 1 << 12 // far above a sentence
	text, err := io.ReadAll(io.LimitReader(answer.Body, most))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("answer of Patroni: %s: %s", answer.Status, strings.TrimSpace(string(text)))
	}
	return err
}
