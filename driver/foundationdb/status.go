package foundationdb

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/workload"
)

// status is what of the machine-readable status is of use here (manual,
// "Machine-Readable Status").
type status struct {
	Client struct {
		Coordinators struct {
			Coordinators []struct{} `json:"coordinators"`
		} `json:"coordinators"`
	} `json:"client"`
	Cluster struct {
		Configuration struct {
			RedundancyMode string `json:"redundancy_mode"`
			StorageEngine  string `json:"storage_engine"`
			Logs           int    `json:"logs"`
			CommitProxies  int    `json:"commit_proxies"`
			GRVProxies     int    `json:"grv_proxies"`
			Resolvers      int    `json:"resolvers"`
			UsableRegions  int    `json:"usable_regions"`
		} `json:"configuration"`
		Processes map[string]struct {
			Version string `json:"version"`
		} `json:"processes"`
		Machines map[string]struct{} `json:"machines"`
	} `json:"cluster"`
}

// replicas is how many copies of the data a redundancy mode keeps in one
// region (manual, "Configuration", "Redundancy modes").
func replicas(mode string) int {
	switch mode {
	case "single":
		return 1
	case "double":
		return 2
	case "triple", "three_data_hall":
		return 3
	default:
		return 0
	}
}

// product reads the status. The addresses in it are left out.
func product(text []byte) (workload.Product, error) {
	var s status
	if err := json.Unmarshal(text, &s); err != nil {
		return workload.Product{}, fmt.Errorf("the status is not what the manual says: %w", err)
	}
	var versions []string
	for _, p := range s.Cluster.Processes {
		if p.Version != "" && !slices.Contains(versions, p.Version) {
			versions = append(versions, p.Version)
		}
	}
	if len(versions) == 0 {
		return workload.Product{}, errors.New("the status names no process; look at it with fdbcli --exec 'status details'")
	}
	slices.Sort(versions)
	c := s.Cluster.Configuration
	settings := []workload.Setting{{Name: settingIsolation, Value: level}}
	for _, text := range []workload.Setting{{Name: "redundancy_mode", Value: c.RedundancyMode}, {Name: settingEngine, Value: c.StorageEngine}} {
		if text.Value != "" {
			settings = append(settings, text)
		}
	}
	for _, count := range []struct {
		name string
		n    int
	}{
		{"processes", len(s.Cluster.Processes)}, {"coordinators", len(s.Client.Coordinators.Coordinators)},
		{"logs", c.Logs}, {"commit_proxies", c.CommitProxies}, {"grv_proxies", c.GRVProxies}, {"resolvers", c.Resolvers},
		{"usable_regions", c.UsableRegions},
	} {
		if count.n > 0 {
			settings = append(settings, workload.Setting{Name: count.name, Value: strconv.Itoa(count.n)})
		}
	}
	settings = append(settings, workload.Setting{Name: "automatic_idempotency", Value: "off"},
		workload.Setting{Name: "client_retries", Value: "none"})
	return workload.Product{
		Name: "FoundationDB", Version: strings.Join(versions, ", "), Settings: settings,
		Topology: workload.Topology{Nodes: len(s.Cluster.Machines), Replicas: replicas(c.RedundancyMode)},
	}, nil
}

// settingIsolation is the setting that names the isolation level of operations.
const settingIsolation = "isolation"

// withRiskyReads says of a product that operations are done with causalReadRisky:
// what is left is that transactions are serializable.
func withRiskyReads(p workload.Product) workload.Product {
	p.Settings = slices.Clone(p.Settings)
	for i := range p.Settings {
		if p.Settings[i].Name == settingIsolation {
			p.Settings[i].Value = "serializable"
		}
	}
	p.Settings = append(p.Settings, workload.Setting{Name: causalReadRisky, Value: "on"})
	return p
}

// settingEngine is the setting that names the cluster's storage engine, and
// unnamedEngine what it is called if the status does not tell.
const (
	settingEngine = "storage_engine"
	unnamedEngine = "the cluster's"
)

// engines are the storage engines that a cluster has: one.
func engines(p workload.Product) []string {
	for _, s := range p.Settings {
		if s.Name == settingEngine {
			return []string{s.Value}
		}
	}
	return []string{unnamedEngine}
}
