package binlog

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/cluster/server"
	"assay/internal/expect"
)

// silentPrimary is a set whose first node runs and answers nobody, with this log, of which
// everything before old was there at the last look.
func silentPrimary(t *testing.T, old, since string) (s *Set, told *[]string) {
	t.Helper()
	s = &Set{options: Options{Semisync: true, FailoverAfter: time.Minute}, alive: t.Context(), sure: []int{1}, seen: int64(len(old))}
	s.complete.Store(true)
	told = new([]string)
	s.options.Announce = func(text string) { *told = append(*told, text) }
	for i, name := range []string{"n1", "n2"} {
		dir := t.TempDir()
		n := &server.Node{Number: i, Name: name, Dir: dir, Log: filepath.Join(dir, "log"), Host: "127.0.0.1", Port: 1}
		s.members = append(s.members, &member{Node: n, label: name})
	}
	primary := s.members[0].Node
	expect.NoError(t, primary.Spawn(server.ProcessOptions{Name: "sleep", Program: "/bin/sleep", Args: []string{"1000"}}))
	expect.AtEnd(t, primary.End)
	expect.NoError(t, os.WriteFile(primary.Log, []byte(old+since), 0o600))
	return s, told
}

const inVain = "2026-11-28  8:53:58 61 [Warning] " + WaitedInVain + " (file: binlog.000001, pos: 13656), semi-sync up to file binlog.000001, position 13405.\n"

// TestAPrimaryThatHasGoneOnIsNotFenced: it may have acknowledged what no replica has, also if
// nobody saw it but its log.
func TestAPrimaryThatHasGoneOnIsNotFenced(t *testing.T) {
	for name, c := range map[string]struct {
		old, since string
		sure       []int
		fenced     bool
	}{
		"nothing in the log":        {"", "ready for connections\n", []int{1}, true},
		"before the last look":      {inVain, "Semi-sync replication switched ON\n", []int{1}, true},
		"since the last look":       {"ready\n", "aborted connection\n" + inVain, []int{1}, false},
		"at the last look":          {"", "", nil, false},
		"a log of an earlier start": {strings.Repeat("x", 1000), "", []int{1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, told := silentPrimary(t, c.old, c.since)
			s.sure = c.sure
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s.failOver(ctx)
			s.failOver(ctx)
			said := func(part string) bool {
				return slices.ContainsFunc(*told, func(line string) bool { return strings.Contains(line, part) })
			}
			if s.members[0].Running() == c.fenced || s.lost != c.fenced || said("is fenced: its processes are killed") != c.fenced || said("is not fenced") == c.fenced {
				t.Errorf("runs %v, lost %v; %q", s.members[0].Running(), s.lost, *told)
			}
			if s.promoted || len(*told) > 2 {
				t.Errorf("promoted %v; %q", s.promoted, *told)
			}
		})
	}
}

// TestALogThatCannotBeRead may say that the primary has gone on.
func TestALogThatCannotBeRead(t *testing.T) {
	s, _ := silentPrimary(t, "", "")
	if s.wentOn() {
		t.Error("an empty log says that it has gone on")
	}
	expect.NoError(t, os.Remove(s.members[0].Log))
	if !s.wentOn() {
		t.Error("of a log that is gone it is certain that nothing was in it")
	}
}
