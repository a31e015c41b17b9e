package main

import (
	"bytes"
	"strings"
	"testing"
)

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
