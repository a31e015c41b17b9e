package catalog

import (
	"strings"

	"assay/workload"
	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/definition"
	"assay/workload/entity"
	"assay/workload/isolation"
	"assay/workload/script"
	"assay/workload/smallbank"
	"assay/workload/tpcb"
	"assay/workload/tpcc"
	"assay/workload/ycsb"
)

// Workloads returns all workloads.
func Workloads() []definition.Workload {
	return []definition.Workload{
		bank.Definition(), isolation.Definition(), availability.Definition(), entity.Definition(), candles.Definition(),
		bulkupdate.Definition(), churn.Definition(), ycsb.Definition(),
		smallbank.Definition(), tpcb.Definition(), tpcc.Definition(),
		script.Definition(),
	}
}

// WorkloadOf returns the workload of this name, or a *workload.OptionError.
func WorkloadOf(name string) (definition.Workload, error) {
	var names []string
	for _, w := range Workloads() {
		if w.Name == name {
			return w, nil
		}
		names = append(names, w.Name)
	}
	return definition.Workload{}, &workload.OptionError{Option: "workload", Value: name, Want: strings.Join(names, ", ")}
}
