package runner

import (
	"assay/cluster"
	"assay/runner/catalog"
)

// Unserved is why the scenario's database does not serve its workload, by the catalog, as a
// clause; empty if it does, or if only the database itself can tell.
func (s Scenario) Unserved() string {
	address := s.Database
	switch spec, err := cluster.ParseSpec(s.Cluster); {
	case address == "" && s.Cluster == "":
		address = schemeSQLite
	case address == "" && err == nil:
		address = cluster.SchemeOf(spec.Product) + ":"
	}
	driver, err := catalog.DriverFor(address)
	if err != nil {
		return ""
	}
	return driver.Support(s.Workload).Reason
}
