package foundationdb

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/store"
)

func TestTimeLimit(t *testing.T) {
	if got := timeLimit(t.Context()); got != patience {
		t.Errorf("without a deadline: %v, want %v", got, patience)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if got := timeLimit(ctx); got <= patience || got > time.Hour {
		t.Errorf("with a deadline in an hour: %v", got)
	}
}

// TestOverdue: the client library's time limit, even before the context's end, counts as its
// deadline.
func TestOverdue(t *testing.T) {
	limited, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	ended, end := context.WithCancel(t.Context())
	end()
	unreachable := func(err error) bool { return errors.As(err, new(*store.UnreachableError)) }
	for name, test := range map[string]struct {
		ctx  context.Context
		code int
		want func(error) bool
	}{
		"no limit":           {t.Context(), codeTransactionTimeout, unreachable},
		"ahead of the limit": {limited, codeTransactionTimeout, func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
		"ended":              {ended, codeCancelled, func(err error) bool { return errors.Is(err, context.Canceled) }},
		"something else":     {ended, codeNotCommitted, func(err error) bool { return err == nil }},
	} {
		if err := overdue(test.ctx, test.code); !test.want(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNoAnswer: a first contact without an answer never shows the bare code, whichever clock was
// first.
func TestNoAnswer(t *testing.T) {
	raw := errors.New("FoundationDB error code 1031")
	first, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	err := noAnswer(t.Context(), first, options{printable: "fdb://"}, time.Hour, codeTransactionTimeout, raw)
	if !errors.As(err, new(*store.UnreachableError)) || !strings.Contains(err.Error(), "no answer within 1h") || strings.Contains(err.Error(), "1031") {
		t.Errorf("by the time to connect: %v", err)
	}
	if err := noAnswer(first, first, options{}, 0, codeTransactionTimeout, raw); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("by the caller's deadline: %v", err)
	}
	if err := noAnswer(t.Context(), first, options{}, time.Hour, codeLocked, raw); !errors.As(err, new(*store.UnreachableError)) || !errors.Is(err, raw) {
		t.Errorf("by another error: %v", err)
	}
}

// TestMissingClusterFile names the path.
func TestMissingClusterFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "absent.cluster")
	err := options{clusterFile: path, printable: "fdb://" + path}.checkClusterFile()
	if !errors.As(err, new(*store.UnreachableError)) || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
	if err := (options{}).checkClusterFile(); err != nil {
		t.Errorf("the default place is the library's to look for: %v", err)
	}
}

// TestReadingGoesOn after a transaction that ran out of time with rows, but not without rows.
func TestReadingGoesOn(t *testing.T) {
	if !goesOn(codeTransactionTimeout, true) || goesOn(codeTransactionTimeout, false) || !goesOn(codeTooOld, false) || goesOn(codeCommitUnknown, true) {
		t.Error("the reader goes on after the wrong errors")
	}
}
