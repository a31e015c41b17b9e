package mem

import (
	"testing"

	"assay/driver/drivertest"
	"assay/workload/bank"
)

func TestAudits(t *testing.T) {
	d := mustNew(t, Options{})
	drivertest.RunAudits(t, drivertest.Bank{Open: func(*testing.T) bank.Store { return d.Bank() }})
}
