package mem

import (
	"testing"

	"assay/driver/drivertest"
	"assay/workload/churn"
)

func TestChurn(t *testing.T) {
	d, err := NewChurn(Options{})
	if err != nil {
		t.Fatal(err)
	}
	setForeign := func(foreign bool) {
		d.mu.Lock()
		d.foreign = foreign
		d.mu.Unlock()
	}
	drivertest.RunChurn(t, drivertest.Churn{
		Shrinks:       true,
		Open:          func(*testing.T) churn.Store { return d.Churn() },
		MakeForeign:   func(t *testing.T) { setForeign(true); t.Cleanup(func() { setForeign(false) }) },
		ForeignIntact: func(t *testing.T) { wantNothing(t, d) },
	})
}

func wantNothing(t *testing.T, d *Heap) {
	if d.mark != nil || len(d.rows) != 0 {
		t.Error("what is foreign was changed")
	}
}
