package agents

import (
	"bytes"
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"

	"assay/internal/expect"
)

// TestPieceIsPutAgainAsItWas: a piece whose accepted put seemed to fail does not come again longer,
// with its end lost.
func TestPieceIsPutAgainAsItWas(t *testing.T) {
	engine, err := Start("127.0.0.1:0", "")
	expect.NoError(t, err)
	t.Cleanup(engine.Close)
	store, err := openBucket(t.Context(), engine.conn, "r", 1)
	expect.NoError(t, err)
	text := make([]byte, 3000)
	_, _ = rand.Read(text) // never fails
	file, err := os.Create(filepath.Join(t.TempDir(), "history"))
	expect.NoError(t, err)
	defer file.Close()
	write := func(from, to int) {
		if _, err := file.Write(text[from:to]); err != nil {
			t.Fatal(err)
		}
	}
	in := t.TempDir()
	d, c := &deliverer{store: store, file: file}, &collector{store: store, folder: in}
	write(0, 1000)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if d.deliver(gone) == nil {
		t.Fatal("it was delivered to nobody")
	}
	// The put was accepted, but the agent heard a failure.
	if _, err := store.PutBytes(t.Context(), part(0, 0), text[:1000]); err != nil {
		t.Fatal(err)
	}
	expect.NoError(t, c.collect(t.Context()))
	write(1000, 3000)
	expect.NoError(t, d.finish(t.Context(), End{}))
	if whole, err := c.finish(t.Context()); !whole || err != nil {
		t.Errorf("whole %v, %v", whole, err)
	}
	if got, err := os.ReadFile(filepath.Join(in, historyFile(0))); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
