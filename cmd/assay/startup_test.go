package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"assay/internal/expect"
)

// The bytes that packages may allocate while the program starts, whatever it was started
// for, by the prefix of their paths. They are what a package builds before main begins and
// do not vary; a package of ours builds its tables when they are first asked for.
const (
	ownInit  = 5 << 10 // a sync.OnceValue has 72 of it
	anyInit  = 64 << 10
	allInits = 3712 << 10
)

// heavyInits are the packages of others that allocate more than anyInit, and how much they
// may.
func heavyInits() map[string]int {
	return map[string]int{
		"github.com/brianvoe/gofakeit/v7/data":           400 << 10, // words and names, which are a function of the seed
		"github.com/yuin/goldmark/util":                  150 << 10, // the prose of studies
		"github.com/yuin/goldmark/parser":                120 << 10,
		"github.com/nats-io/nats-server/v2/server":       210 << 10,
		"github.com/xdg-go/stringprep":                   150 << 10, // passwords of MongoDB and PostgreSQL
		"github.com/prometheus/procfs":                   110 << 10,
		"github.com/google/jsonschema-go/jsonschema":     90 << 10,
		"github.com/prometheus/client_golang/prometheus": 80 << 10,
		"google.golang.org/protobuf/reflect/protodesc":   180 << 10, // with what etcd's API is described by
		"go.etcd.io/etcd/api/v3/etcdserverpb":            110 << 10,
		"github.com/apache/cassandra-gocql-driver/v2":    320 << 10, // which grows with the machine's network interfaces
	}
}

// mostBytes is how large the program may be.
const mostBytes = 69_000_000

// TestTheProgramIsSmall: a library more is a few megabytes, and one call of a method by a name that only
// the run knows is a third of the program (docs/internals/decisions/size.md).
func TestTheProgramIsSmall(t *testing.T) {
	program, err := os.Stat(binary)
	expect.NoError(t, err)
	if size := program.Size(); size > mostBytes {
		t.Errorf("the program has %d bytes, and %d are allowed; go build -ldflags=-dumpdep names what is marked <ReflectMethod>", size, mostBytes)
	}
}

// TestNothingHeavyRunsBeforeACommand: what packages build before main begins is bounded,
// and is next to nothing in assay's own.
func TestNothingHeavyRunsBeforeACommand(t *testing.T) {
	cmd := exec.Command(binary, "version")
	cmd.Env = []string{"GODEBUG=inittrace=1"}
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, trace.String())
	}
	line := regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) bytes, \d+ allocs$`)
	own, all, packages := 0, 0, 0
	for _, m := range line.FindAllStringSubmatch(trace.String(), -1) {
		name := m[1]
		size, err := strconv.Atoi(m[2])
		expect.NoError(t, err)
		packages++
		all += size
		limit := anyInit
		if more, heavy := heavyInits()[name]; heavy {
			limit = more
		}
		if strings.HasPrefix(name, "assay/") || name == "main" {
			own += size
		}
		if size > limit {
			t.Errorf("package %s allocates %d bytes before main begins, and %d are allowed", name, size, limit)
		}
	}
	if packages < 100 || own > ownInit || all > allInits {
		t.Errorf("%d packages allocate %d bytes before main begins, of which assay's own %d", packages, all, own)
	}
}

// TestOnlyTheCommandIsMade: the flags of other commands and workloads are not made, and
// whoever asks for help or errs is told of all.
func TestOnlyTheCommandIsMade(t *testing.T) {
	count := func(args ...string) (all int) {
		for _, c := range newRoot("test", args).Commands() {
			all += 1 + len(c.Commands())
		}
		return all
	}
	whole := count()
	for args, want := range map[string]int{
		"version": 1, "run bank": 2, "run bank --ops 5": 2, "sweep tpcc": 2, "list": 1,
		"": whole, "--help": whole, "help run": whole, "vresion": whole, "__complete run ": whole,
	} {
		if got := count(strings.Fields(args)...); got != want {
			t.Errorf("assay %s makes %d commands, want %d", args, got, want)
		}
	}
	if got := count("run", "banc"); got < 12 {
		t.Errorf("a misspelt workload is held against %d names", got)
	}
}
