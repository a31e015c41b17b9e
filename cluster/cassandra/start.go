package cassandra

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	template "github.com/DataDog/datadog-agent/pkg/template/text"
	"golang.org/x/sync/errgroup"

	"assay/cluster/server"
)

const (
	usualPort        = 9042
	usualStoragePort = 7000
)

const stopBound = time.Minute

//go:embed cassandra.yaml jvm17.options logback.xml
var files embed.FS

const howToGet = "run scripts/install-servers.sh cassandra"

// findJars searches the extra folder, its lib, and the newest version in the folder of CacheDir.
func findJars(extra string) (string, error) {
	var folders []string
	if extra != "" {
		folders = append(folders, extra, filepath.Join(extra, "lib"))
	}
	if cache, err := server.CacheDir(); err == nil { // without a home folder there is no cache in it
		folders = append(folders, filepath.Join(cache, "cassandra-5*", "lib"))
	}
	missing := &server.MissingError{Program: "cassandra-all-5*.jar", Looked: folders, Get: howToGet}
	for _, folder := range folders {
		found, err := filepath.Glob(filepath.Join(folder, "cassandra-all-5*.jar"))
		if err != nil {
			return "", fmt.Errorf("find Cassandra: %q: %w", folder, err)
		}
		if len(found) > 0 {
			return filepath.Dir(slices.MaxFunc(found, server.CompareVersions)), nil
		}
	}
	return "", missing
}

func javaFolders() []string {
	return []string{"/usr/lib/jvm/*17*/bin", "/opt/homebrew/opt/openjdk@17/bin", "/usr/local/opt/openjdk@17/bin",
		"/Library/Java/JavaVirtualMachines/*17*/Contents/Home/bin"}
}

// findJava returns the first Java 17 of JAVA_HOME, PATH and these folders; Cassandra 5 does not
// start with a newer one. The *server.MissingError names the others.
func findJava(ctx context.Context, folders []string) (string, error) {
	missing := &server.MissingError{Program: "java of version 17", Get: "install Java 17, or have JAVA_HOME name it; " + howToGet + " installs it on Debian"}
	var candidates []string
	if home := os.Getenv("JAVA_HOME"); home != "" {
		candidates = append(candidates, filepath.Join(home, "bin", "java"))
	}
	if path, err := exec.LookPath("java"); err == nil {
		candidates = append(candidates, path)
	} else {
		missing.Looked = append(missing.Looked, "PATH")
	}
	for _, pattern := range folders {
		found, err := filepath.Glob(filepath.Join(pattern, "java"))
		if err != nil {
			return "", fmt.Errorf("find java: %q: %w", pattern, err)
		}
		if len(found) == 0 {
			missing.Looked = append(missing.Looked, pattern)
		}
		candidates = append(candidates, found...)
	}
	for _, candidate := range candidates {
		java := server.Executable(candidate)
		if java == "" {
			missing.Looked = append(missing.Looked, candidate)
			continue
		}
		version, err := javaVersion(ctx, java)
		switch {
		case err == nil && majorOf(version) == "17":
			return java, nil
		case ctx.Err() != nil:
			return "", fmt.Errorf("find java: %w", ctx.Err())
		case err != nil:
			version = "that does not say its version"
		}
		missing.Looked = append(missing.Looked, fmt.Sprintf("%s (a Java %s)", candidate, version))
	}
	return "", missing
}

var javaVersionForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`version "([^"]+)"`) })

func javaVersion(ctx context.Context, java string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	output, err := exec.CommandContext(ctx, java, "-version").CombinedOutput()
	if err != nil {
		return "", err
	}
	found := javaVersionForm().FindSubmatch(output)
	if found == nil {
		return "", errors.New("no version in its answer")
	}
	return string(found[1]), nil
}

func majorOf(version string) string {
	major, _, _ := strings.Cut(version, ".")
	return major
}

// makeNodes gives nodes that share this machine loopback addresses of their own and the same ports.
func (c *Ring) makeNodes() error {
	o := c.options
	own := len(o.Machines) > 0 && !o.Machines[0].Address().IsLoopback()
	if own && len(o.Machines) < o.Nodes {
		return fmt.Errorf("%d machines for %d nodes", len(o.Machines), o.Nodes)
	}
	var hosts []string
	for i := range o.Nodes {
		hosts = append(hosts, fmt.Sprintf("127.0.0.%d", i+1))
		if own {
			hosts[i] = o.Machines[i].Address().String()
		}
	}
	native := usualPort
	c.storage = usualStoragePort
	if !own {
		var err error
		if c.storage, err = portForAll(o.Ports, hosts); err != nil {
			return err
		}
		if native, err = portForAll(o.Ports, hosts); err != nil {
			return err
		}
	}
	for i, host := range hosts {
		c.nodes = append(c.nodes, &server.Node{
			Number: i, Machine: server.MachineAt(o.Machines, i), Host: host, Port: native, IsError: isError,
			Name: fmt.Sprintf("Cassandra %d on %s", i, net.JoinHostPort(host, strconv.Itoa(native))),
			Dir:  server.FolderOn(server.MachineAt(o.Machines, i), filepath.Join(o.Dir, "node-"+strconv.Itoa(i))),
			Log:  filepath.Join(o.LogDir, fmt.Sprintf("cassandra-%d.log", i)),
		})
	}
	return nil
}

// isError finds errors and their causes in a log. Pages of traces follow them.
func isError(line string) bool {
	return strings.Contains(line, " ERROR ") || strings.HasPrefix(line, "Caused by:") ||
		strings.HasPrefix(line, "Exception ") || strings.HasPrefix(line, "Error:") || strings.HasPrefix(line, "Error occurred")
}

func portForAll(ports *server.Ports, hosts []string) (int, error) {
	var last error
	for range 20 {
		port, err := ports.Next()
		if err != nil {
			return 0, err
		}
		if last = freeOnAll(port, hosts); last == nil {
			return port, nil
		}
		if errors.Is(last, syscall.EADDRNOTAVAIL) {
			return 0, fmt.Errorf("each node needs an address of its own: %w; give it to the loopback interface (macOS: sudo ifconfig lo0 alias 127.0.0.2, and so on)", last)
		}
	}
	return 0, fmt.Errorf("no port is free on all addresses: %w", last)
}

func freeOnAll(port int, hosts []string) error {
	for _, host := range hosts {
		listener, err := net.Listen("tcp4", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			return err
		}
		if err := listener.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Ring) writeFiles(node *server.Node) error {
	for _, dir := range []string{node.Dir, path(node, "conf"), path(node, "tmp")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	return c.configure(node)
}

func (c *Ring) configure(node *server.Node) error {
	var seeds []string
	for _, n := range c.nodes {
		seeds = append(seeds, net.JoinHostPort(n.Host, strconv.Itoa(c.storage)))
	}
	const name = "cassandra.yaml"
	text, err := template.New(name).Funcs(template.FuncMap{"quote": strconv.Quote, "path": func(below ...string) string { return path(node, below...) }}).
		ParseFS(files, name)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	// All are seeds, so that no node waits for another.
	if err := text.Execute(&out, map[string]any{
		"Token": token(node.Number, len(c.nodes)), "Seeds": strings.Join(seeds, ","), "Host": node.Host,
		"StoragePort": c.storage, "NativePort": node.Port, "CommitLog": c.options.CommitLog, "Settings": node.Settings(c.options.Settings),
	}); err != nil {
		return err
	}
	log, err := files.ReadFile("logback.xml")
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(path(node, "conf", name), out.Bytes(), 0o600),
		os.WriteFile(path(node, "conf", "logback.xml"), log, 0o600))
}

func path(n *server.Node, below ...string) string {
	return filepath.Join(append([]string{n.Dir}, below...)...)
}

// token is node i's place in the ring of Murmur3Partitioner, from -2^63 to 2^63-1: n nodes have
// equal distances (Cassandra documentation, "initial_token").
func token(i, n int) string {
	ring := new(big.Int).Lsh(big.NewInt(1), 64)
	t := ring.Mul(ring, big.NewInt(int64(i)))
	t.Div(t, big.NewInt(int64(n)))
	return t.Sub(t, new(big.Int).Lsh(big.NewInt(1), 63)).String()
}

func (c *Ring) arguments(node *server.Node, further []string) []string {
	var args []string
	options, _ := files.ReadFile("jvm17.options") // it is in the program
	for line := range strings.Lines(string(options)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "-") {
			args = append(args, line)
		}
	}
	heap := strconv.FormatInt(c.options.Heap, 10)
	args = append(args, "-Xms"+heap, "-Xmx"+heap, "-Djava.io.tmpdir="+path(node, "tmp"), "-Djna.tmpdir="+path(node, "tmp"),
		"-Dcassandra.storagedir="+node.Dir, "-Dcassandra.ring_delay_ms=2000",
		"-Dlogback.configurationFile=logback.xml")
	args = slices.Concat(args, c.options.Java, further)
	return append(args, "-cp", path(node, "conf")+string(os.PathListSeparator)+filepath.Join(c.jars, "*"),
		"org.apache.cassandra.service.CassandraDaemon")
}

// startAll starts all nodes at once. There are no clients yet, so none waits to hear of others
// before it serves (skip_wait_for_gossip_to_settle).
func (c *Ring) startAll(ctx context.Context) error {
	group, starting := errgroup.WithContext(ctx) // after one that fails the others need not go on
	for _, node := range c.nodes {
		group.Go(func() error {
			return c.start(starting, node, []string{"-Dcassandra.skip_wait_for_gossip_to_settle=0"}, nil)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := c.makeProbe(ctx); err != nil {
		return err
	}
	return c.until(ctx, c.allSeen)
}
