package histories

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/expect"
)

// A named pipe without a writer holds the reader up no longer than the context.
func TestPipeThatNobodyOpens(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "history.pipe")
	expect.NoError(t, syscall.Mkfifo(pipe, 0o600))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := Check(ctx, pipe, Options{Timeout: time.Minute})
		done <- err
	}()
	cancel()
	if err := <-done; !errors.As(err, new(*InterruptedError)) || !strings.Contains(err.Error(), pipe) {
		t.Errorf("got %v", err)
	}
	if writer, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil { // ends the wait, if it had begun
		writer.Close()
	}
}

// The number of bytes read is reported up to the file's end.
func TestBytesRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.edn")
	text := edn("0 invoke add 1; 0 ok add 1; 1 invoke read; 1 ok read [1]")
	expect.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	var done, total int64
	o := Options{Timeout: time.Minute, Read: func(d, all int64) { done, total = d, all }}
	if h, err := Check(t.Context(), path, o); err != nil || h.Kind != "set" {
		t.Errorf("%+v, %v", h, err)
	}
	if done != int64(len(text)) || total != done {
		t.Errorf("%d of %d bytes were read, of %d", done, total, len(text))
	}
}

// A pipe passes what was written, and a waiting read ends with the context.
func TestCancellableReads(t *testing.T) {
	source, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	c := newCancellable(ctx, source, source)
	go func() {
		for _, part := range []string{"one", "", "two"} {
			if _, err := io.WriteString(out, part); err != nil {
				t.Error(err)
			}
		}
	}()
	got := make([]byte, 6)
	if _, err := io.ReadFull(c, got[:2]); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, got[2:]); err != nil || string(got) != "onetwo" {
		t.Errorf("%q, %v", got, err)
	}
	go cancel()
	for range 2 {
		if n, err := c.Read(got); n != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("%d, %v", n, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
