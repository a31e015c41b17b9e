package postgres

import (
	"testing"

	"assay/internal/expect"
)

// TestSettleLeavesOtherRunsAlone: sessions of another run, even of the same workload and database,
// are left alone. This run's are ended, even by a database that did not make the schema.
func TestSettleLeavesOtherRunsAlone(t *testing.T) {
	s := setScene(t, target(t))
	other := connectTo(t, address(t, parameter("application_name", "assay bank session another-run")))
	own, err := s.store.Session(s.ctx)
	expect.NoError(t, err)
	defer own.Close()
	fresh := openBank(t, target(t))
	defer fresh.Close()
	expect.NoError(t, fresh.Settle(s.ctx))
	if err := other.Ping(s.ctx); err != nil {
		t.Errorf("a session of another run was ended: %v", err)
	}
	if r := own.Transfer(s.ctx, s.next(1, 2)); r.Err == nil {
		t.Errorf("a session of this run, which another Store had opened, was left: %+v", r)
	}
}
