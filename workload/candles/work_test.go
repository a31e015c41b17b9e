package candles

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"assay/internal/expect"
	"assay/store"
)

var errSize = errors.New("not allowed")

// sizeless is a database that does not tell its size.
type sizeless struct{ store.Database }

func (sizeless) Size(context.Context) (store.Size, error) { return store.Size{}, errSize }

// lost is a database whose connections come back after some attempts.
type lost struct {
	store.Database
	attempts *int
}

func (l lost) Describe(context.Context) (store.Product, error) {
	*l.attempts++
	if *l.attempts < 4 {
		return store.Product{}, errors.New("no connections")
	}
	return store.Product{}, nil
}

// TestAColdRoundWaitsForConnections: else its first queries would fail.
func TestAColdRoundWaitsForConnections(t *testing.T) {
	attempts, restarts := 0, 0
	w, err := newWork(t.Context(), lost{attempts: &attempts}, small(), storySeed, 1)
	expect.NoError(t, err)
	w.RestartWith(func(context.Context, func() error) error { restarts++; return nil })
	if err := w.ready(t.Context(), false, true); err != nil || restarts != 1 || attempts != 4 {
		t.Errorf("%v after %d restarts and %d attempts", err, restarts, attempts)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	attempts = 0
	if err := w.ready(ended, false, true); err == nil {
		t.Error("a round begins without connections")
	}
}

// TestASizeThatIsNotToldLosesNothing: what was read back is saved all the same.
func TestASizeThatIsNotToldLosesNothing(t *testing.T) {
	w, err := newWork(t.Context(), sizeless{opened(t)}, small(), storySeed, 1)
	expect.NoError(t, err)
	folder := t.TempDir()
	expect.NoError(t, w.Save(t.Context(), folder, func(int64) {}))
	if _, err := os.Stat(filepath.Join(folder, FileState)); err != nil {
		t.Error(err)
	}
	if _, err := w.Size(t.Context()); !errors.Is(err, errSize) {
		t.Errorf("the size is %v", err)
	}
}
