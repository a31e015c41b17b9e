package runner

import (
	"fmt"
	"os"
	"path/filepath"

	"assay/fault"
	"assay/report"
)

func (s Scenario) hosts() (*fault.Hosts, error) {
	text, err := os.ReadFile(s.Nodes)
	if err != nil {
		return nil, &ScenarioError{Path: s.Nodes, Err: fmt.Errorf("it is the file of --nodes: %w", err)}
	}
	return fault.ParseHosts(s.Nodes, text)
}

// attachHosts directs the run's faults to the user's own nodes. stop closes the connection that
// asks for the primary.
func (r *run) attachHosts() (stop func() error, err error) {
	if r.hosts, err = r.scenario.hosts(); err != nil {
		return nil, err
	}
	asker := &primaryAsker{run: r}
	r.hosts.Primary = asker.ask
	r.nodes = &report.Cluster{Spec: "nodes:" + filepath.Base(r.scenario.Nodes), Network: "machines of one's own"}
	names, addresses := r.hosts.Addresses()
	for i, name := range names {
		r.nodes.Nodes = append(r.nodes.Nodes, report.ClusterNode{Name: name, Address: addresses[i]})
	}
	return asker.close, nil
}
