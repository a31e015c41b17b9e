// Package expect has in one line what tests say most often: that there is no error, what
// a text holds, and that what was opened can be closed.
//
// It is for tests alone, and imports no other package of assay.
package expect

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// NoError ends the test if any of these is an error.
func NoError(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// Text wants all parts in a text. About is what the text is of.
func Text(t testing.TB, about any, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%v: %q is not in\n%s", about, part, text)
		}
	}
}

// AtEnd has something closed or ended after the test, which must be possible.
func AtEnd(t testing.TB, end func() error) {
	t.Helper()
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// Within is a context that ends with the test, or before it after a time.
func Within(t testing.TB, bound time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	t.Cleanup(cancel)
	return ctx
}

// Patiently is a context for what an idle machine does in seconds and one with twenty times the load
// in minutes. Its bound is there to end a test that hangs, and measures nothing.
func Patiently(t testing.TB) context.Context { return Within(t, Patience) }

// Patience is how long Patiently waits.
const Patience = 10 * time.Minute
