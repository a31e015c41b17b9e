package server

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"assay/internal/expect"
)

func writeProgram(t *testing.T, folder, name string, mode os.FileMode) string {
	t.Helper()
	expect.NoError(t, os.MkdirAll(folder, 0o755))
	path := filepath.Join(folder, name)
	expect.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), mode))
	return path
}

func TestFindLooksInOrder(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	expect.NoError(t, err)
	t.Setenv("PATH", filepath.Join(root, "path"))
	t.Setenv("ASSAY_SERVERS", filepath.Join(root, "cache"))
	program := Program{Name: "serverd", Folders: []string{filepath.Join(root, "system/*/bin")}, Get: "ask your vendor"}
	extra := filepath.Join(root, "extra")

	_, err = program.Find(extra)
	var missing *MissingError
	if !errors.As(err, &missing) || missing.Program != "serverd" || missing.Get != "ask your vendor" || len(missing.Looked) != 5 {
		t.Fatalf("got %v", err)
	}
	// Each place overrides the places before it. Files that are no programs, and lower versions, do
	// not count.
	writeProgram(t, filepath.Join(root, "path"), "serverd", 0o644)
	for _, folder := range []string{"cache/bin", "system/9.6/bin", "system/15/bin", "path", "extra/bin", "extra"} {
		want := writeProgram(t, filepath.Join(root, folder), "serverd", 0o755)
		if folder == "path" {
			expect.NoError(t, os.Chmod(want, 0o755))
		}
		if got, err := program.Find(extra); err != nil || got != want {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
	writeProgram(t, filepath.Join(root, "system/10/bin"), "serverd", 0o755)
	t.Setenv("PATH", root)
	if got, _ := program.Find(""); got != filepath.Join(root, "system/15/bin/serverd") {
		t.Errorf("the newest version is 15, got %s", got)
	}
}

func TestFindResolvesLinks(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	expect.NoError(t, err)
	want := writeProgram(t, filepath.Join(root, "real"), "serverd", 0o755)
	expect.NoError(t, os.Symlink(want, filepath.Join(root, "serverd")))
	if got, err := (Program{Name: "serverd"}).Find(root); err != nil || got != want {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestCacheDir(t *testing.T) {
	t.Setenv("ASSAY_SERVERS", "")
	t.Setenv("XDG_CACHE_HOME", "/somewhere")
	t.Setenv("HOME", "/home/somebody")
	base, err := os.UserCacheDir()
	expect.NoError(t, err)
	if got, err := CacheDir(); err != nil || got != filepath.Join(base, "assay", "servers") {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestPortsAreFreeAndNeverGivenTwice(t *testing.T) {
	var ports Ports
	seen := make(map[int]bool)
	for range 500 {
		port, err := ports.Next()
		expect.NoError(t, err)
		if seen[port] || port < 20000 || port > 32000 {
			t.Fatalf("port %d, given before: %v", port, seen[port])
		}
		seen[port] = true
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	expect.NoError(t, err)
	defer listener.Close()
	_, text, _ := net.SplitHostPort(listener.Addr().String())
	taken, _ := strconv.Atoi(text)
	if bindable(taken) == nil {
		t.Errorf("port %d passes for free while somebody listens on it", taken)
	}
}

func TestPortsRunOut(t *testing.T) {
	ports := Ports{given: make(map[int]io.Closer)}
	for port := lowestPort; port <= highestPort; port++ {
		ports.given[port] = nil
	}
	if port, err := ports.Next(); err == nil {
		t.Errorf("got %d where none was left", port)
	}
}

func TestPrivateDirMustBeEmpty(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	got, err := PrivateDir(dir, nil)
	if err != nil || got != dir {
		t.Fatalf("got %s, %v", got, err)
	}
	if _, err := PrivateDir(dir, nil); err != nil {
		t.Errorf("an empty folder was refused: %v", err)
	}
	writeProgram(t, dir, "precious", 0o600)
	if _, err := PrivateDir(dir, nil); err == nil {
		t.Error("a folder with somebody's file in it was accepted")
	}
}

func TestUserMustReachTheFolder(t *testing.T) {
	user := &User{Name: "stranger", UID: 4_000_000, GID: 4_000_000}
	closed := filepath.Join(t.TempDir(), "closed")
	expect.NoError(t, os.Mkdir(closed, 0o700))
	if err := user.canEnter(closed); err == nil {
		t.Error("a closed folder passes for open")
	}
	expect.NoError(t, user.canEnter("/usr/lib"))
	if user.MayRun(filepath.Join(closed, "program")) || !user.MayRun("/usr/lib/program") || !(*User)(nil).MayRun(filepath.Join(closed, "program")) {
		t.Error("who may run a program is not as the folders say")
	}
}

func TestVersionOf(t *testing.T) {
	folder := t.TempDir()
	for text, want := range map[string]string{
		"patroni 3.0.2": "3.0.2", "pg_autoctl version 2.0\ncompiled with PostgreSQL 15.0": "2.0", "none": "",
	} {
		path := filepath.Join(folder, "program")
		expect.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n[ \"$1\" = --version ] && echo '"+text+"'\n"), 0o755))
		if got := VersionOf(t.Context(), path); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
	if got := VersionOf(t.Context(), filepath.Join(folder, "missing")); got != "" {
		t.Errorf("a missing program has version %q", got)
	}
}
