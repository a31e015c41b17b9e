package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"assay/internal/expect"
)

// TestServeAndRunThroughIt starts the service, runs the workload through it and
// ends it as an interrupt would.
func TestServeAndRunThroughIt(t *testing.T) {
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	reading, writing := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := run(ctx, []string{"serve", "--db", "sqlite:" + filepath.Join(dir, "service.db"), "--option", "synchronous=off",
			"--listen", "127.0.0.1:0", "--allow-reset"}, io.Discard, writing)
		writing.Close()
		ended <- code
	}()
	buffer := make([]byte, 4096)
	n, err := reading.Read(buffer)
	expect.NoError(t, err)
	go io.Copy(io.Discard, reading)
	expect.Text(t, "the service", string(buffer[:n]), "service.db?synchronous=off on")
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(string(buffer[:n]))
	if address == "" {
		t.Fatalf("the service said %q", buffer[:n])
	}
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"run", "entity", "--db", address, "--clients", "2", "--entities", "10", "--ops", "60", "--seed", "1",
		"--out", filepath.Join(dir, "run"), "--quiet", "--drop"}, &stdout, &stderr)
	if code != exitValid && code != exitNoVerdict || !strings.Contains(stdout.String(), "entity: valid") {
		t.Errorf("exit %d: %s%s", code, &stdout, &stderr)
	}
	stop()
	select {
	case code := <-ended:
		if code != exitValid {
			t.Errorf("the service ended with %d", code)
		}
	case <-time.After(time.Minute):
		t.Fatal("the service does not end")
	}
}

func TestServeRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"which database":                        {"serve"},
		"names a service":                       {"serve", "--db", "http://127.0.0.1:1"},
		"without its password":                  {"serve", "--db", "postgres://u:xxxxx@localhost/test"},
		"NAME=VALUE":                            {"serve", "--db", "mem://", "--option", "w"},
		"synchronous \"never\"":                 {"serve", "--db", "sqlite:none.db", "--option", "synchronous=never"},
		"--sessions":                            {"serve", "--db", "mem://", "--sessions", "0"},
		"--write-share":                         {"run", "entity", "--write-share", "2"},
		"--retry blind cannot be":               {"run", "entity", "--retry", "blind"},
		"not possible here: the service behind": {"run", "bank", "--db", "http://127.0.0.1:1"},
	} {
		t.Setenv(databaseVariable, "")
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), args, &stdout, &stderr); code != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("%v: exit %d, %s, want %q", args, code, &stderr, want)
		}
	}
}
