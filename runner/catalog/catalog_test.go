package catalog

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"assay/workload/bank"
)

func TestEveryDriverIsFoundByItsSchemes(t *testing.T) {
	seen := map[string]string{}
	for _, d := range Drivers() {
		if d.Name == "" || d.Summary == "" || len(d.Schemes) == 0 {
			t.Errorf("driver %q is not described", d.Name)
		}
		for _, scheme := range d.Schemes {
			if other, taken := seen[scheme]; taken {
				t.Errorf("%s: serve both %s and %s", scheme, other, d.Name)
			}
			seen[scheme] = d.Name
			if got, err := DriverFor(scheme + "://somewhere"); err != nil || got.Name != d.Name {
				t.Errorf("%s: gives %q, %v, want %q", scheme, got.Name, err, d.Name)
			}
		}
		if got, err := DriverFor(d.Example); err != nil || got.Name != d.Name {
			t.Errorf("the example %q gives %q, %v", d.Example, got.Name, err)
		}
	}
	for _, want := range []string{"sqlite", "postgres", "postgresql", "mongodb", "mongodb+srv", "mysql", "mariadb", "cassandra", "redis", "rediss", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster", "http", "https", "fdb", "etcd", "mem"} {
		if seen[want] == "" {
			t.Errorf("nobody serves %s:", want)
		}
	}
}

func TestUnknownSchemes(t *testing.T) {
	for address, scheme := range map[string]string{
		"oracle://host": "oracle", "POSTGRES://host": "POSTGRES", "localhost": "", "": "", ":": "", "sqlit:x": "sqlit",
		"postgres": "", "host:5432": "host",
	} {
		_, err := DriverFor(address)
		var unknown *SchemeError
		if !errors.As(err, &unknown) || unknown.Scheme != scheme {
			t.Errorf("%q: got %v", address, err)
			continue
		}
		for _, d := range Drivers() {
			if !strings.Contains(err.Error(), d.Example) {
				t.Errorf("%q does not say that %q could be written", err, d.Example)
			}
		}
	}
}

// TestAnUnknownSchemeTellsNothingElse: a password may follow the scheme.
func TestAnUnknownSchemeTellsNothingElse(t *testing.T) {
	for _, address := range []string{"oracle://u:hunter2@host/db", "u:hunter2@host", "hunter2"} {
		if _, err := DriverFor(address); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestMatrixIsWhole(t *testing.T) {
	type pair struct{ driver, workload string }
	seen := map[pair]bool{}
	for _, c := range Matrix() {
		p := pair{c.Driver, c.Workload}
		if seen[p] {
			t.Errorf("%v is there twice", p)
		}
		seen[p] = true
		if c.Supported != (c.Reason == "") {
			t.Errorf("%v: supported is %v with the reason %q", p, c.Supported, c.Reason)
		}
	}
	for _, d := range Drivers() {
		for _, w := range Workloads() {
			if !seen[pair{d.Name, w.Name}] {
				t.Errorf("nothing is said of %s on %s", w.Name, d.Name)
			}
		}
	}
	if len(seen) != len(Drivers())*len(Workloads()) {
		t.Errorf("%d cells of %d drivers and %d workloads", len(seen), len(Drivers()), len(Workloads()))
	}
	names := []string{}
	for _, w := range Workloads() {
		if w.Summary == "" || slices.Contains(names, w.Name) {
			t.Errorf("workload %q", w.Name)
		}
		names = append(names, w.Name)
	}
	if !slices.Contains(names, bank.Name) {
		t.Errorf("no %s in %v", bank.Name, names)
	}
}
