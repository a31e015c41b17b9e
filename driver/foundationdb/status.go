package foundationdb

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/store"
)

// status is the needed part of the machine-readable status (manual, "Machine-Readable Status").
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
			Roles   []struct {
				Role string `json:"role"`
			} `json:"roles"`
		} `json:"processes"`
		Machines map[string]struct{} `json:"machines"`
	} `json:"cluster"`
}

// replicas is a redundancy mode's number of copies in one region (manual, "Configuration",
// "Redundancy modes").
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

// product reads the status, without its addresses.
func product(text []byte) (store.Product, error) {
	var s status
	if err := json.Unmarshal(text, &s); err != nil {
		return store.Product{}, fmt.Errorf("the status is not what the manual says: %w", err)
	}
	var versions []string
	for _, p := range s.Cluster.Processes {
		if p.Version != "" && !slices.Contains(versions, p.Version) {
			versions = append(versions, p.Version)
		}
	}
	if len(versions) == 0 {
		return store.Product{}, errors.New("the status names no process; look at it with fdbcli --exec 'status details'")
	}
	slices.Sort(versions)
	c := s.Cluster.Configuration
	settings := []store.Setting{{Name: settingIsolation, Value: level}}
	for _, text := range []store.Setting{{Name: "redundancy_mode", Value: c.RedundancyMode}, {Name: settingEngine, Value: c.StorageEngine}} {
		if text.Value != "" {
			settings = append(settings, text)
		}
	}
	for _, count := range []struct {
		name  string
		value string
	}{
		{"processes", known(len(s.Cluster.Processes))}, {"coordinators", known(len(s.Client.Coordinators.Coordinators))},
		{"logs", s.roles("log", c.Logs)}, {"commit_proxies", s.roles("commit_proxy", c.CommitProxies)},
		{"grv_proxies", s.roles("grv_proxy", c.GRVProxies)}, {"resolvers", s.roles("resolver", c.Resolvers)},
		{"usable_regions", known(c.UsableRegions)},
	} {
		if count.value != "" {
			settings = append(settings, store.Setting{Name: count.name, Value: count.value})
		}
	}
	settings = append(settings, store.Setting{Name: "automatic_idempotency", Value: "off"},
		store.Setting{Name: "client_retries", Value: "none"})
	return store.Product{
		Name: "FoundationDB", Version: strings.Join(versions, ", "), Settings: settings,
		Topology: store.Topology{Nodes: len(s.Cluster.Machines), Replicas: replicas(c.RedundancyMode)},
	}, nil
}

// known is a number, or nothing for 0, which stands for a missing one.
func known(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// roles counts a role's processes, and names the configured number if it differs, as in small
// clusters.
func (s *status) roles(role string, desired int) string {
	running := 0
	for _, process := range s.Cluster.Processes {
		for _, r := range process.Roles {
			if r.Role == role {
				running++
			}
		}
	}
	switch {
	case running == 0 && desired > 0:
		return strconv.Itoa(desired) + " desired"
	case desired == 0 || running == desired:
		return known(running)
	default:
		return fmt.Sprintf("%d of %d desired", running, desired)
	}
}

const settingIsolation = "isolation"

// withRiskyReads describes operations under causalReadRisky: transactions remain serializable.
func withRiskyReads(p store.Product) store.Product {
	p.Settings = slices.Clone(p.Settings)
	for i := range p.Settings {
		if p.Settings[i].Name == settingIsolation {
			p.Settings[i].Value = "serializable"
		}
	}
	p.Settings = append(p.Settings, store.Setting{Name: causalReadRisky, Value: "on"})
	return p
}

// settingEngine names the cluster's storage engine; unnamedEngine stands in if the status does not
// tell.
const (
	settingEngine = "storage_engine"
	unnamedEngine = "the cluster's"
)

func engines(p store.Product) []string {
	for _, s := range p.Settings {
		if s.Name == settingEngine {
			return []string{s.Value}
		}
	}
	return []string{unnamedEngine}
}
