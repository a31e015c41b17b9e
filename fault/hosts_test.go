package fault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"assay/cluster/server"
	"assay/internal/expect"
	"assay/internal/yamlfile"
)

// ownHosts are two servers of a user's, no databases: killing one ends a process.
func ownHosts(t *testing.T) (*Hosts, string) {
	t.Helper()
	dir := t.TempDir()
	var ports server.Ports
	var addresses [2]string
	for i := range addresses {
		port, err := ports.Next()
		expect.NoError(t, err)
		addresses[i] = fmt.Sprintf("127.0.0.1:%d", port)
	}
	t.Cleanup(func() { runtime.KeepAlive(&ports) })
	text := `nodes: {n1: "` + addresses[0] + `", n2: "` + addresses[1] + `"}
acts:
  kill:
    do: kill -9 $(cat ` + dir + `/$NODE)
    undo: ` + dir + `/start
  isolate: {do: "echo no route >&2; exit 3", undo: "true"}
  pause: {do: "kill -STOP $(cat ` + dir + `/$NODE)", undo: "kill -CONT $(cat ` + dir + `/$NODE)", proof: "ps -o state= -p $(cat ` + dir + `/$NODE) | grep T"}
  flaky: {do: "echo $HOST $PORT $VALUE > ` + dir + `/told", undo: "rm ` + dir + `/told", proof: "cat ` + dir + `/told"}
`
	start := "#!/bin/sh\npython3 -m http.server --bind $HOST $PORT > /dev/null 2>&1 &\necho $! > " + dir + "/$NODE\n"
	expect.NoError(t, os.WriteFile(filepath.Join(dir, "start"), []byte(start), 0o755))
	h, err := ParseHosts("nodes.yaml", []byte(text))
	expect.NoError(t, err)
	h.Primary = func(context.Context) (string, error) { return h.nodes[1].address, nil }
	for _, n := range h.nodes {
		c := &command{host: n}
		_, err := c.run(t.Context(), dir+"/start")
		expect.NoError(t, err)
		t.Cleanup(func() { _, _ = c.run(context.Background(), "kill -9 $(cat "+dir+"/$NODE)") })
		bounded, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = c.restore(bounded)
		expect.NoError(t, err)
	}
	return h, dir
}

// TestHosts applies a user's commands to a user's servers and requires proof and healing.
func TestHosts(t *testing.T) {
	h, _ := ownHosts(t)
	for _, c := range []struct{ fault, node, proof, problem string }{
		{"kill primary at 0s for 300ms", "n2", "refuses connections", ""},
		{"pause n1 at 0s for 300ms", "n1", "its proof says yes: T", ""},
		{"flaky=20% n2 at 0s for 300ms", "n2", "its proof says yes: 127.0.0.1 " + h.nodes[1].address[len("127.0.0.1:"):] + " 20%", ""},
		{"isolate n1 at 0s for 300ms", "n1", "answers all the same", "exit status 3: no route"},
	} {
		faults := parse(t, c.fault)
		expect.NoError(t, h.Check(faults))
		expect.NoError(t, Validate(t.Context(), faults, h))
		done, _ := Run(t.Context(), h, faults, Plan{Seed: 7}, &recording{})
		if len(done) != 1 {
			t.Fatalf("%s: %+v", c.fault, done)
		}
		i := done[0]
		if i.Proven != (c.problem == "") || !strings.Contains(i.Proof, c.proof) || !i.Healed || !strings.Contains(i.Healing, "answers") || !strings.Contains(i.Problem, c.problem) || strings.Join(i.Nodes, "") != c.node {
			t.Errorf("%s: %+v", c.fault, i)
		}
	}
	for text, want := range map[string]string{"stop n1": "no command for it", "kill n3": "there is no node n3", "flaky n1,n2": "one node each", "switchover": "no command for it"} {
		if err := h.Check(parse(t, text)); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	h.Primary = func(context.Context) (string, error) { return "10.9.8.7:1", nil }
	bounded, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := h.primaries(bounded); !strings.Contains(fmt.Sprint(err), "is the address of no node") {
		t.Errorf("a stranger: %v", err)
	}
}

// TestHostsHealWithoutUs, if assay ends before it heals them.
func TestHostsHealWithoutUs(t *testing.T) {
	h, _ := ownHosts(t)
	made, err := h.prepare(parse(t, "kill n1 at 0s for 1h")[0], choice{nodes: []string{"n1"}}, nil)
	expect.NoError(t, err)
	expect.NoError(t, made.inject(t.Context()))
	c := made.(together)[0].(*command)
	expect.NoError(t, server.Until(t.Context(), 10*time.Millisecond, "the server's end", func(ctx context.Context) error {
		if c.dial(ctx) == nil {
			return errors.New("it answers")
		}
		return nil
	}))
	expect.NoError(t, c.word.Close()) // as the kernel does where a process ends
	bounded, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	expect.NoError(t, server.Until(bounded, 10*time.Millisecond, "the healer", c.dial))
	expect.NoError(t, c.healer.Wait())
}

// TestWhatACommandStarts: it ends with a command that is cut short, and goes on after one that
// succeeded, even if it holds the command's output.
func TestWhatACommandStarts(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "child")
	c := &command{host: host{name: "n1", address: "127.0.0.1:1"}}
	alive := func() bool {
		pid, err := os.ReadFile(file)
		expect.NoError(t, err)
		state, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
		return err == nil && !strings.Contains(string(state), ") Z ") // which nobody may have buried
	}
	const starts = "sleep 600 & echo $! > "
	said, err := c.run(t.Context(), starts+file+"; echo done")
	if err != nil || said != "done" || !alive() {
		t.Errorf("a command that leaves something behind: %q, %v", said, err)
	}
	_, err = c.run(t.Context(), "kill $(cat "+file+")")
	expect.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_ = server.Until(t.Context(), 10*time.Millisecond, "the command", func(context.Context) error {
			_, err := os.Stat(file + "2")
			return err
		})
		cancel()
	}()
	if _, err = c.run(ctx, starts+file+"; touch "+file+"2; wait"); !errors.Is(err, context.Canceled) {
		t.Errorf("a command that is cut short: %v", err)
	}
	expect.NoError(t, server.Until(expect.Patiently(t), 10*time.Millisecond, "the child's end", func(context.Context) error {
		if alive() {
			return errors.New("it is alive")
		}
		return nil
	}))
}

// TestAnUndoThatFailedIsRepeated, as far as to what heals it should assay be killed.
func TestAnUndoThatFailedIsRepeated(t *testing.T) {
	t.Parallel()
	count := filepath.Join(t.TempDir(), "count")
	for want, undo := range map[string]string{
		"xx": "printf x >> $COUNT; [ $(wc -c < $COUNT) -ge 2 ]", // of the second try
		"x":  "printf x >> $COUNT",
	} {
		undo = strings.ReplaceAll(undo, "$COUNT", count)
		c := &command{host: host{name: "n1", address: "127.0.0.1:1"}, hostAct: hostAct{Do: "true", Undo: undo}, fault: parse(t, "isolate n1")[0]}
		expect.NoError(t, c.inject(t.Context()))
		for try := 1; c.undo(t.Context()) != nil; try++ {
			if try > 5 {
				t.Fatalf("%s fails for ever", undo)
			}
		}
		expect.NoError(t, c.undo(t.Context())) // which has nothing left to do
		if text, err := os.ReadFile(count); string(text) != want || c.healer != nil {
			t.Errorf("%s: it ran %q times, %v", undo, text, err)
		}
		expect.NoError(t, os.Remove(count))
	}
}

func TestHostsFile(t *testing.T) {
	const good = "nodes: {n1: \"h:1\"}\nacts:\n"
	for text, want := range map[string]string{
		"nodes: {n1: h:1}\nact: {}\n":           "f:2:1: ",
		"nodes: {}\n":                           "f:1:8: nodes: there are none",
		"nodes:\n  n1: h:1\n  n3: h:2\n":        "f:3:7: nodes.n3: nodes are called n1, n2",
		"nodes:\n  n1: h\n":                     "f:2:7: nodes.n1: \"h\" is no host:port",
		good + "  explode: {do: x, undo: y}\n":  "acts.explode: it is none of kill, ",
		good + "  replace: {do: x, undo: y}\n":  "acts.replace: it is none of kill, ",
		good + "  kill: {undo: y}\n":            "acts.kill: do: is missing",
		good + "  kill: {do: x}\n":              "acts.kill: undo: is missing",
		good + "  flaky: {do: x, undo: y}\n":    "acts.flaky: proof: is missing",
		good + "  restart: {do: x, undo: y}\n":  "acts.restart: proof: is missing",
		good + "  kill: {do: x, undone: y}\n":   "f:3:",
		good + "  kill: [x]\n":                  "f:3:",
		good + "  kill:\n    do: x\n    undo: ": "acts.kill: undo: is missing",
	} {
		_, err := ParseHosts("f", []byte(text))
		if !strings.Contains(fmt.Sprint(err), want) || err == nil {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParseHosts(f *testing.F) {
	f.Add([]byte("nodes: {n1: \"h:1\"}\nacts: {kill: {do: x, undo: y}}\n"))
	f.Add([]byte("nodes:\n  n1: [\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := ParseHosts("f", text)
		if wrong, is := err.(*yamlfile.Error); err != nil && (!is || wrong.Line < 1 || wrong.Column < 1) {
			t.Errorf("%q: %v", text, err)
		}
		if err == nil && len(h.nodes) == 0 {
			t.Errorf("%q: no nodes", text)
		}
	})
}
