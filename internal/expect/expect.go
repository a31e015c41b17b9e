// Package expect has the most frequent steps of tests in one line each.
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

// Text wants all parts in a text, which about describes.
func Text(t testing.TB, about any, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%v: %q is not in\n%s", about, part, text)
		}
	}
}

// AtEnd calls end after the test, which fails on its error.
func AtEnd(t testing.TB, end func() error) {
	t.Helper()
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// Within returns a context that ends with the test, or earlier after bound.
func Within(t testing.TB, bound time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	t.Cleanup(cancel)
	return ctx
}

// Patiently is a context that only ends a hanging test. Work of seconds on an idle machine may
// take minutes under twenty times the load.
func Patiently(t testing.TB) context.Context { return Within(t, Patience) }

// Patience is how long Patiently waits.
const Patience = 10 * time.Minute

// Eventually waits until something is so. The test ends if it never is.
func Eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still not: %s", what)
		}
	}
}

// Started is what start makes, and is closed after the test.
func Started[O any, C interface{ Close() error }](t testing.TB, start func(context.Context, O) (C, error), o O) C {
	t.Helper()
	c, err := start(Patiently(t), o)
	NoError(t, err)
	AtEnd(t, c.Close)
	return c
}
