package postgres

import (
	"context"
	"testing"

	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/smallbank"
	"assay/workload/tpcb"
)

// The life cycle is the namespace's, which the suites of other workloads test.

func TestSmallBank(t *testing.T) {
	for _, level := range []string{"read committed", "serializable"} {
		t.Run(level, func(t *testing.T) {
			drivertest.RunSmallBank(t, drivertest.SmallBank{Secret: secret, OperationsOnly: true, Open: func(t *testing.T) smallbank.Store {
				return openSmallBank(t, at(t, level, parameter("deadlock_timeout", "10ms")))
			}})
		})
	}
}

func TestTPCB(t *testing.T) {
	drivertest.RunTPCB(t, drivertest.TPCB{Secret: secret, OperationsOnly: true, Open: func(t *testing.T) tpcb.Store {
		store, err := tpcb.Opener(Driver().Open)(t.Context(), target(t))
		if err != nil {
			t.Fatal(err)
		}
		return store
	}})
}

func openSmallBank(t *testing.T, to workload.Target) smallbank.Store {
	t.Helper()
	store, err := smallbank.Opener(Driver().Open)(context.Background(), to)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// TestSmallBankWriteSkew makes the anomaly of the paper: while a WriteCheck waits to write
// what it has decided, a TransactSaving commits, and then a Balance. At repeatable read
// all three commit, which is found and named; at serializable one of them fails.
func TestSmallBankWriteSkew(t *testing.T) {
	for level, allowed := range map[string]bool{"repeatable read": true, "serializable": false} {
		t.Run(level, func(t *testing.T) {
			s := drivertest.NewWriteSkew(t, openSmallBank(t, at(t, level)))
			rival := admin(t)
			exec(t, rival, `BEGIN`)
			exec(t, rival, `SELECT 1 FROM assay_smallbank.checking WHERE customer_id = 1 FOR UPDATE`)
			answered := make(chan struct{})
			go func() {
				s.WriteCheck()
				close(answered)
			}()
			awaitLockWait(t)
			s.Meanwhile()
			exec(t, rival, `ROLLBACK`)
			<-answered
			s.Judge(allowed)
		})
	}
}

// awaitLockWait returns when a statement of workload smallbank waits for a lock.
func awaitLockWait(t *testing.T) {
	t.Helper()
	watcher := admin(t)
	for waiting := 0; waiting == 0; {
		err := watcher.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%assay_smallbank%'`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
}
