package foundationdb

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/store"
)

// sample is the manual's status ("Machine-Readable Status") with some useless fields.
const sample = `{
	"client": {
		"cluster_file": {"path": "/etc/foundationdb/fdb.cluster", "up_to_date": true},
		"coordinators": {"coordinators": [{"reachable": true, "address": "10.0.0.1:4500"}, {"reachable": false, "address": "10.0.0.2:4500"}], "quorum_reachable": true},
		"database_status": {"available": true, "healthy": true}
	},
	"cluster": {
		"configuration": {"redundancy_mode": "double", "storage_engine": "ssd-2", "logs": 3, "commit_proxies": 3, "grv_proxies": 1, "resolvers": 1, "usable_regions": 1, "excluded_servers": []},
		"machines": {"m1": {"address": "10.0.0.1", "cpu": {"logical_core_utilization": 0.4}}, "m2": {"address": "10.0.0.2"}},
		"processes": {
			"p1": {"address": "10.0.0.1:4500", "version": "7.3.63", "roles": [{"role": "master"}, {"role": "log"}, {"role": "commit_proxy"}, {"role": "grv_proxy"}]},
			"p2": {"address": "10.0.0.2:4500", "version": "7.3.63", "roles": [{"role": "storage"}, {"role": "commit_proxy"}]},
			"p3": {"address": "10.0.0.2:4501", "version": "7.3.59"}
		}
	}
}`

func TestProduct(t *testing.T) {
	got, err := product([]byte(sample))
	expect.NoError(t, err)
	if got.Name != "FoundationDB" || got.Version != "7.3.59, 7.3.63" || got.Embedded || got.Topology != (store.Topology{Nodes: 2, Replicas: 2}) {
		t.Errorf("%+v", got)
	}
	want := []store.Setting{
		{Name: "isolation", Value: "strict-serializable"}, {Name: "redundancy_mode", Value: "double"}, {Name: "storage_engine", Value: "ssd-2"},
		{Name: "processes", Value: "3"}, {Name: "coordinators", Value: "2"}, {Name: "logs", Value: "1 of 3 desired"}, {Name: "commit_proxies", Value: "2 of 3 desired"},
		{Name: "grv_proxies", Value: "1"}, {Name: "resolvers", Value: "1 desired"}, {Name: "usable_regions", Value: "1"},
		{Name: "automatic_idempotency", Value: "off"}, {Name: "client_retries", Value: "none"},
	}
	if !slices.Equal(got.Settings, want) {
		t.Errorf("settings %+v, want %+v", got.Settings, want)
	}
	text, err := json.Marshal(got)
	if err != nil || strings.Contains(string(text), "10.0.0.") {
		t.Errorf("an address is told: %s (%v)", text, err)
	}
}

// TestStatusWithoutCluster is the client's invention when nothing answers.
func TestStatusWithoutCluster(t *testing.T) {
	for _, text := range []string{"", "{", "{}", `{"client":{"database_status":{"available":false}},"cluster":{"layers":{"_valid":false}}}`,
		`{"cluster":{"processes":{"p1":{}}}}`, `{"cluster":{"processes":[]}}`} {
		if got, err := product([]byte(text)); err == nil {
			t.Errorf("%q gives %+v", text, got)
		}
	}
}

func TestReplicas(t *testing.T) {
	for mode, want := range map[string]int{"single": 1, "double": 2, "triple": 3, "three_data_hall": 3, "": 0, "what is yet to come": 0} {
		if got := replicas(mode); got != want {
			t.Errorf("%q keeps %d copies, want %d", mode, got, want)
		}
	}
}

func TestEngines(t *testing.T) {
	for want, p := range map[string]store.Product{
		"ssd-2":       {Settings: []store.Setting{{Name: "isolation", Value: level}, {Name: "storage_engine", Value: "ssd-2"}}},
		unnamedEngine: {Settings: []store.Setting{{Name: "isolation", Value: level}}},
	} {
		if got := engines(p); !slices.Equal(got, []string{want}) {
			t.Errorf("the engines of %+v are %q, want %q", p, got, want)
		}
	}
}
