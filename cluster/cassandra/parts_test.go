package cassandra

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/cluster/machine"
	"assay/cluster/server"
	"assay/internal/expect"
)

// aJava makes a program java of this version, and returns its folder.
func aJava(t *testing.T, home, version string) string {
	t.Helper()
	bin := filepath.Join(home, "bin")
	expect.NoError(t, os.MkdirAll(bin, 0o700))
	script := "#!/bin/sh\necho 'openjdk version \"" + version + "\" 2025-04-15' >&2\n"
	expect.NoError(t, os.WriteFile(filepath.Join(bin, "java"), []byte(script), 0o700))
	return bin
}

func TestJavaOfTheRightVersionIsFound(t *testing.T) {
	dir := t.TempDir()
	old, right, newer := filepath.Join(dir, "old"), filepath.Join(dir, "right"), filepath.Join(dir, "newer")
	oldBin, rightBin, newerBin := aJava(t, old, "1.8.0_392"), aJava(t, right, "17.0.15"), aJava(t, newer, "21")
	want := filepath.Join(rightBin, "java")
	for name, c := range map[string]struct {
		home, path string
		folders    []string
	}{
		"home":    {right, newerBin, nil},
		"path":    {newer, rightBin, []string{oldBin}},
		"folders": {newer, oldBin, []string{newerBin, rightBin}},
		"no home": {"", rightBin, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("JAVA_HOME", c.home)
			t.Setenv("PATH", c.path+":/bin:/usr/bin")
			if found, err := findJava(t.Context(), c.folders); err != nil || found != want {
				t.Errorf("%s, %v; want %s", found, err, want)
			}
		})
	}
	t.Setenv("JAVA_HOME", newer)
	t.Setenv("PATH", oldBin)
	_, err := findJava(t.Context(), []string{filepath.Join(dir, "nowhere")})
	var missing *server.MissingError
	if !errors.As(err, &missing) {
		t.Fatalf("got %v", err)
	}
	expect.Text(t, "the error", err.Error(), "17", "a Java 21", "a Java 1.8.0_392", "nowhere", "install-servers.sh cassandra")
}

func TestJarsAreFound(t *testing.T) {
	t.Setenv("ASSAY_SERVERS", t.TempDir())
	_, err := findJars("")
	var missing *server.MissingError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "install-servers.sh cassandra") {
		t.Errorf("got %v", err)
	}
	extra := t.TempDir()
	for _, folder := range []string{
		filepath.Join(os.Getenv("ASSAY_SERVERS"), "cassandra-5.0.9", "lib"),
		filepath.Join(os.Getenv("ASSAY_SERVERS"), "cassandra-5.0.10", "lib"), filepath.Join(extra, "lib"),
	} {
		expect.NoError(t, os.MkdirAll(folder, 0o700))
		version := strings.TrimPrefix(filepath.Base(filepath.Dir(folder)), "cassandra-")
		if filepath.Dir(folder) == extra {
			version = "5.0.1"
		}
		expect.NoError(t, os.WriteFile(filepath.Join(folder, "cassandra-all-"+version+".jar"), nil, 0o600))
	}
	if found, err := findJars(""); err != nil || !strings.Contains(found, "cassandra-5.0.10") {
		t.Errorf("%s, %v; want the newest", found, err)
	}
	if found, err := findJars(extra); err != nil || found != filepath.Join(extra, "lib") {
		t.Errorf("%s, %v; want the one below %s", found, err, extra)
	}
}

func TestTokensDivideTheRing(t *testing.T) {
	for _, c := range []struct {
		i, n int
		want string
	}{
		{0, 1, "-9223372036854775808"}, {0, 3, "-9223372036854775808"}, {1, 3, "-3074457345618258603"},
		{2, 3, "3074457345618258602"}, {1, 2, "0"},
	} {
		if got := token(c.i, c.n); got != c.want {
			t.Errorf("token %d of %d is %s, want %s", c.i, c.n, got, c.want)
		}
	}
}

func TestNodesOnLoopbackShareTheirPorts(t *testing.T) {
	set, err := machine.Loopback(machine.Options{ID: "0a1b2c3d", Names: []string{"n1", "n2"}})
	expect.NoError(t, err)
	expect.AtEnd(t, set.Close)
	c := &Ring{options: Options{Layout: server.Layout{Nodes: 2, Machines: set.All()}, Ports: new(server.Ports)}}
	if err := c.makeNodes(); err != nil || len(c.nodes) != 2 {
		t.Fatalf("%+v, %v", c.nodes, err)
	}
	first, second := c.nodes[0], c.nodes[1]
	if first.Host != "127.0.0.1" || second.Host != "127.0.0.2" || first.Port != second.Port || first.Port == c.storage ||
		second.Machine != set.All()[1] {
		t.Errorf("%+v, storage port %d", c.nodes, c.storage)
	}
}
