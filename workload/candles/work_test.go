package candles

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"assay/workload"
)

// sizeless is a Store that keeps nothing and does not tell its size.
type sizeless struct{ Store }

var errSize = errors.New("not allowed")

func (sizeless) Engines(context.Context) ([]string, error)          { return []string{"one"}, nil }
func (sizeless) Size(context.Context) (workload.Size, error)        { return workload.Size{}, errSize }
func (sizeless) Read(context.Context, func(Candle) error) error     { return nil }
func (sizeless) Describe(context.Context) (workload.Product, error) { return workload.Product{}, nil }

// TestASizeThatIsNotToldLosesNothing: what was read back is saved all the same.
func TestASizeThatIsNotToldLosesNothing(t *testing.T) {
	w, err := NewWork(t.Context(), sizeless{}, small(), storySeed, 1)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := w.Save(t.Context(), folder, func(int64) {}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, FileState)); err != nil {
		t.Error(err)
	}
	if _, err := w.Size(t.Context()); !errors.Is(err, errSize) {
		t.Errorf("the size is %v", err)
	}
}
