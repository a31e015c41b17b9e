package mariadb

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"assay/cluster/server"
)

// galeraLibrary searches the extra folder and the system. The error is a *server.MissingError.
func galeraLibrary(extra string) (string, error) {
	const name = "libgalera_smm.so"
	folders := []string{"/usr/lib/galera", "/usr/lib64/galera-4", "/usr/lib64/galera", "/usr/local/lib/galera", "/usr/lib"}
	if extra != "" {
		folders = append([]string{extra, filepath.Join(extra, "lib"), filepath.Join(extra, "..", "lib")}, folders...)
	}
	for _, folder := range folders {
		if path := filepath.Join(folder, name); server.Exists(path) {
			return path, nil
		}
	}
	return "", &server.MissingError{Program: name, Looked: folders, Get: "install Galera (apt-get install galera-4 rsync socat)"}
}

// galeraArguments make a node a member. Galera demands the row format and the interleaved lock mode
// (MariaDB documentation, "Configuring MariaDB Galera Cluster").
func (m *Cluster) galeraArguments(node *member) []string {
	var group []string
	for _, n := range m.nodes.All() {
		if n.Left.Load() && n != node {
			continue
		}
		group = append(group, net.JoinHostPort(n.Host, strconv.Itoa(n.galera)))
	}
	listen := net.JoinHostPort(node.Host, strconv.Itoa(node.galera))
	provider := []string{
		"base_host=" + node.Host, "base_port=" + strconv.Itoa(node.galera), "gmcast.listen_addr=tcp://" + listen,
		"ist.recv_addr=" + net.JoinHostPort(node.Host, strconv.Itoa(node.ist)),
	}
	for _, t := range []struct {
		name  string
		value time.Duration
	}{{"suspect", m.options.Suspect}, {"inactive", m.options.Inactive}, {"install", m.options.Install}} {
		if t.value > 0 {
			provider = append(provider, "evs."+t.name+"_timeout="+isoSeconds(t.value))
		}
	}
	if suspect := m.options.Suspect; suspect > 0 && suspect < defaultSuspect {
		// Galera refuses a period above a third of the timeout.
		provider = append(provider, "evs.keepalive_period="+isoSeconds(suspect/5))
	}
	return []string{
		"--wsrep-on=ON", "--wsrep-provider=" + m.provider, "--wsrep-cluster-name=assay",
		"--wsrep-cluster-address=gcomm://" + strings.Join(group, ","),
		"--wsrep-node-name=n" + strconv.Itoa(node.Number+1), "--wsrep-node-address=" + listen,
		"--wsrep-provider-options=" + strings.Join(provider, ";"),
		"--wsrep-sst-method=rsync", "--wsrep-sst-receive-address=" + net.JoinHostPort(node.Host, strconv.Itoa(node.sst)),
		"--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", "--default-storage-engine=InnoDB",
	}
}

const defaultSuspect = 5 * time.Second

func isoSeconds(d time.Duration) string {
	return "PT" + strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "S"
}

// rejoin starts a stopped node beside running ones, or as the first of all. It tells the server its
// position, as the system's own service does (galera_recovery), so that only missed transactions
// are sent and not everything. If the node joins others, rejoin returns once it is started.
// Where no other node runs, and one with more recent data is kept down by a fault, rejoin waits for
// that one: only the fault may start it.
func (m *Cluster) rejoin(ctx context.Context, node *member, env []string) error {
	return node.Until(ctx, 100*time.Millisecond, "the node that is to begin the cluster", func(ctx context.Context) error {
		err := m.rejoinNow(ctx, node, env)
		if errors.As(err, new(*heldError)) || err == nil {
			return err
		}
		return server.Permanent(err)
	})
}

// heldError means that a fault keeps a node down that has, or may have, the most recent data.
type heldError struct{ node string }

func (e *heldError) Error() string {
	return "a fault keeps " + e.node + " down, and no other node has its data"
}

// rejoinNow handles one node at a time: until it is clear who begins the cluster anew, no other call
// may start a server on data under inspection, or begin another cluster.
func (m *Cluster) rejoinNow(ctx context.Context, node *member, env []string) error {
	m.restarting.Lock()
	defer m.restarting.Unlock()
	if node.Running() { // another Restart has begun the cluster with it
		if len(env) == 0 {
			return nil
		}
		if err := node.Halt(ctx); err != nil {
			return err
		}
	}
	own, err := m.position(ctx, node)
	if err != nil {
		return err
	}
	if !m.othersRun(node) {
		best, most, err := m.mostRecent(ctx, node, own)
		if err != nil {
			return err
		}
		if err := best.allowBegin(); err != nil {
			return err
		}
		begin := most.start()
		begin.begin = true
		if best == node {
			begin.env = env
			return m.start(ctx, node, begin)
		}
		if err := m.start(ctx, best, begin); err != nil {
			return fmt.Errorf("%s has the most recent data and begins the cluster: %w", best.Name, err)
		}
	}
	o := own.start()
	o.env = env
	return m.spawn(node, o)
}

// mostRecent prefers node among equals, and then nodes that no fault keeps down. No member runs, and
// restarting is held. The error is a *heldError if a node must be waited for.
func (m *Cluster) mostRecent(ctx context.Context, node *member, own position) (*member, position, error) {
	best, most := node, own
	for _, other := range m.nodes.All() {
		if other == node || other.Left.Load() {
			continue
		}
		p, err := m.position(ctx, other)
		switch {
		case err != nil && other.Held.Load(): // its disk may have no power
			return nil, position{}, &heldError{other.Name}
		case err != nil:
			return nil, position{}, err
		case p.uuid != "" && (p.seqno > most.seqno || p.seqno == most.seqno && best != node && best.Held.Load()):
			best, most = other, p
		}
	}
	if best != node && best.Held.Load() {
		return nil, position{}, &heldError{best.Name}
	}
	return best, most, nil
}

func (m *Cluster) othersRun(node *member) bool {
	return slices.ContainsFunc(m.nodes.All(), func(n *member) bool { return n != node && n.Running() })
}

// position is a history's id and its last transaction's number. The zero value means no data.
type position struct {
	uuid  string
	seqno int64
}

func (p position) start() startOptions {
	if p.uuid == "" {
		return startOptions{}
	}
	return startOptions{args: []string{fmt.Sprintf("--wsrep-start-position=%s:%d", p.uuid, p.seqno)}}
}

const noHistory = "00000000-0000-0000-0000-000000000000"

var recoveredPosition = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`WSREP: Recovered position:? ([0-9a-f-]{36}):(-?[0-9]+)`)
})

// position reads the node's grastate.dat. After a kill that is unknown there, and the server looks
// into its data (--wsrep-recover). The node must have stopped.
func (m *Cluster) position(ctx context.Context, node *member) (position, error) {
	saved, err := node.savedPosition()
	if err != nil || saved.uuid == "" || saved.seqno >= 0 {
		return saved, err
	}
	if node.looked == nil || node.looked != node.Process() { // else it was asked since its server's end
		if node.found, err = m.recoverPosition(ctx, node); err != nil {
			return position{}, err
		}
		node.looked = node.Process()
	}
	return node.found, nil
}

func (m *Cluster) recoverPosition(ctx context.Context, node *member) (position, error) {
	log := filepath.Join(node.Dir, "recover.log")
	if err := os.Remove(log); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return position{}, err
	}
	process, err := node.Run(ctx, server.ProcessOptions{
		Name: "mariadbd --wsrep-recover", Program: m.program, Args: append(m.arguments(node), "--wsrep-recover"),
		Env: m.environment(nil), Log: log,
	})
	if err != nil {
		return position{}, err
	}
	found := recoveredPosition().FindStringSubmatch(process.Tail(300))
	if found == nil {
		return position{}, fmt.Errorf("%s does not report how far its data goes; its log ends with:\n%s", node.Name, process.Tail(10))
	}
	seqno, err := strconv.ParseInt(found[2], 10, 64)
	if err != nil || found[1] == noHistory {
		return position{}, err
	}
	return position{found[1], seqno}, nil
}

func (n *member) stateFile() string { return filepath.Join(n.data(), "grastate.dat") }

// savedPosition reads grastate.dat; seqno is -1 if unknown.
func (n *member) savedPosition() (position, error) {
	file, err := os.Open(n.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return position{}, nil
	}
	if err != nil {
		return position{}, err
	}
	defer file.Close()
	p := position{seqno: -1}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimSpace(value)
		switch name {
		case "uuid":
			p.uuid = value
		case "seqno":
			if p.seqno, err = strconv.ParseInt(value, 10, 64); err != nil {
				return position{}, fmt.Errorf("%s: %w", n.stateFile(), err)
			}
		}
	}
	if p.uuid == noHistory {
		// The copy never began or is incomplete.
		return position{}, lines.Err()
	}
	return p, lines.Err()
}

// allowBegin allows the node to begin the cluster anew, as an administrator does after comparing
// all nodes (Galera documentation, "Restarting the Cluster").
func (n *member) allowBegin() error {
	text, err := os.ReadFile(n.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	changed := strings.Replace(string(text), "safe_to_bootstrap: 0", "safe_to_bootstrap: 1", 1)
	return os.WriteFile(n.stateFile(), []byte(changed), 0o660) // the file stays the server's
}
