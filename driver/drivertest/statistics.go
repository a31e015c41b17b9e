package drivertest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/expect"
	"assay/store"
)

// Statistics describes a server whose account of its own work is tested.
type Statistics struct {
	Open   func(ctx context.Context, target store.Target) (store.Statistics, error)
	Target store.Target
	// Secret is the password in Target, or empty.
	Secret string
	// Pause stops the server's processes, and Resume continues them.
	Pause, Resume func() error
	// Counter is a figure that must grow. Work makes it grow; nil if reading does.
	Counter string
	Work    func(t *testing.T)
	// Means must all be reported.
	Means []store.Meaning
}

// RunStatistics tests a driver's account: figures of its list, growing counters, a bounded wait
// for a stopped server, reconnection, and errors without the password.
func RunStatistics(t *testing.T, h Statistics) {
	account, err := h.Open(t.Context(), h.Target)
	expect.NoError(t, err)
	defer account.Close()
	first := mustRead(t, account)
	list := account.List()
	for name := range first.Values {
		if !slices.ContainsFunc(list, func(s store.Statistic) bool { return s.Name == name }) {
			t.Errorf("%s is told and not in the list", name)
		}
	}
	names := map[string]bool{}
	for _, s := range list {
		if _, told := first.Values[s.Name]; slices.Contains(h.Means, s.Means) && !told {
			t.Errorf("%s (%s) is not told", s.Name, s.Means)
		}
		if names[s.Name] || s.Name == "" || s.Chart == "" {
			t.Errorf("%+v: it has no name or chart, or the name of another one", s)
		}
		names[s.Name] = true
	}
	if first.Server == "" {
		t.Error("it is not told which server it is")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		next := mustRead(t, account)
		if next.Server != first.Server {
			t.Fatalf("the server is %q, and was %q", next.Server, first.Server)
		}
		if next.Values[h.Counter] > first.Values[h.Counter] {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("%s does not grow: %v", h.Counter, next.Values)
		}
		if h.Work != nil {
			h.Work(t)
		}
		pause(ctx, 10*time.Millisecond)
	}
	t.Run("Stopped", func(t *testing.T) { h.stopped(t, account) })
}

// stopped: the wait for a stopped server ends with its context; later the server is read again.
func (h Statistics) stopped(t *testing.T, account store.Statistics) {
	expect.NoError(t, h.Pause())
	bounded, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	_, err := account.Read(bounded)
	cancel()
	if resumed := h.Resume(); err == nil || resumed != nil {
		t.Fatalf("of a stopped server: %v; let go on: %v", err, resumed)
	}
	if h.Secret != "" && strings.Contains(err.Error(), h.Secret) {
		t.Errorf("the password is in %q", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		_, err := account.Read(ctx)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("still not read: %v", err)
		}
		pause(ctx, 50*time.Millisecond)
	}
}

func mustRead(t *testing.T, account store.Statistics) store.Reading {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	reading, err := account.Read(ctx)
	expect.NoError(t, err)
	return reading
}
