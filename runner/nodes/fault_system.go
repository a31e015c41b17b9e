package nodes

import (
	"context"
	"errors"
	"path/filepath"

	"assay/cluster"
	"assay/fault"
	"assay/report"
)

// System is where a run's faults act: servers that the run started, pods, machines of the user's
// own, or the backups of an embedded database. At most one of the four is set; none for a database
// that is only addressed.
type System struct {
	Started  *Nodes
	Pods     *fault.Pods
	Hosts    *fault.Hosts
	Embedded *cluster.Backups
	// Described is for the result; nil for an embedded or an addressed database.
	Described *report.Cluster

	// logged is where the run's part of each log begins; nil for the whole.
	logged map[string]int64
	end    func() error
}

// Asked is the system that a run asks for.
type Asked struct {
	// Cluster is a cluster's spec or a manifest (IsManifest), and Kubernetes selects pods; empty for none.
	Cluster, Kubernetes string
	// Hosts are machines of the user's own, which the file HostsFile describes; nil for none.
	Hosts     *fault.Hosts
	HostsFile string
	Faults    []fault.Fault
	// Programs is a folder of server programs, searched first.
	Programs string
	// Shared are servers for several runs; nil for a run that starts its own.
	Shared *Nodes
	// Stage is told what goes on.
	Stage func(text string)
	// Account connects to the database to ask which of its servers takes writes; see package store.
	// Without one, why names the product and the reason. It is asked once the address is known.
	Account Account
}

// Provide starts the servers that are asked for, or finds existing ones, before anything is changed.
// Faults that started servers cannot have give fault.Validate's error.
func (a Asked) Provide(ctx context.Context) (*System, error) {
	switch {
	case IsManifest(a.Cluster):
		return a.apply(ctx)
	case a.Kubernetes != "":
		return a.attach(ctx)
	case a.Hosts != nil:
		return a.attachHosts(), nil
	case a.Cluster == "":
		return &System{}, nil
	case a.Shared != nil:
		return a.onServers(ctx, a.Shared)
	}
	spec, err := cluster.ParseSpec(a.Cluster)
	if err != nil {
		return nil, err
	}
	spec = fault.WithMeans(spec, a.Faults)
	a.Stage("starting " + spec.String())
	own, err := Start(ctx, spec, a.Programs)
	if err != nil {
		return nil, err
	}
	s, err := a.onServers(ctx, own)
	if err != nil {
		return nil, errors.Join(err, own.Close())
	}
	s.logged, s.end = nil, own.Close
	return s, nil
}

func (a Asked) onServers(ctx context.Context, servers *Nodes) (*System, error) {
	s := &System{Started: servers, Described: servers.Report(), logged: servers.Logged()}
	return s, s.Refuse(ctx, a.Faults)
}

// Refuse returns an error of fault.Validate if these faults cannot be done there.
func (s *System) Refuse(ctx context.Context, faults []fault.Fault) error {
	if len(faults) == 0 {
		return nil
	}
	return fault.Validate(ctx, faults, s.Target())
}

// Target is the target of faults; nil for none.
func (s *System) Target() fault.System {
	switch {
	case s.Started != nil:
		return fault.Servers(s.Started.Cluster)
	case s.Pods != nil:
		return s.Pods
	case s.Hosts != nil:
		return s.Hosts
	case s.Embedded != nil:
		return fault.Embedded(s.Embedded)
	}
	return nil
}

// Backups are those of the run; nil for none.
func (s *System) Backups() *cluster.Backups {
	if s.Started != nil {
		return s.Started.Backups()
	}
	return s.Embedded
}

// KeepLogs copies the run's part of the started servers' logs into a folder.
func (s *System) KeepLogs(to string) error {
	if s.Started == nil {
		return nil
	}
	return s.Started.KeepLogs(to, s.logged)
}

// Close ends the servers that were started for this run alone and removes their data. It removes
// what was applied, and closes the connection that asks for the primary.
func (s *System) Close() error {
	if s.end == nil {
		return nil
	}
	return s.end()
}

func (a Asked) attachHosts() *System {
	asker := &primaryAsker{open: a.Account}
	a.Hosts.Primary = asker.ask
	described := &report.Cluster{Spec: "nodes:" + filepath.Base(a.HostsFile), Network: "machines of one's own"}
	names, addresses := a.Hosts.Addresses()
	for i, name := range names {
		described.Nodes = append(described.Nodes, report.ClusterNode{Name: name, Address: addresses[i]})
	}
	return &System{Hosts: a.Hosts, Described: described, end: asker.close}
}
