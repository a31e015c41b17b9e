package postgres

import (
	"testing"

	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
)

func TestStatistics(t *testing.T) {
	drivertest.RunStatistics(t, drivertest.Statistics{
		Open: OpenStatistics, Target: target(t), Secret: secret, Pause: server.Pause, Resume: server.Resume, Counter: "found in the cache",
		Means: []store.Meaning{store.BusySessions, store.LockWaits, store.DiskWaits},
	})
}

// TestStatisticsOfALockWait counts a session that waits for another's lock.
func TestStatisticsOfALockWait(t *testing.T) {
	account, err := OpenStatistics(t.Context(), target(t))
	expect.NoError(t, err)
	defer account.Close()
	holder, waiter := admin(t), admin(t)
	exec(t, holder, `BEGIN; SELECT pg_advisory_xact_lock(4711)`)
	ended := make(chan error, 1)
	go func() {
		_, err := waiter.Exec(t.Context(), `SELECT pg_advisory_lock(4711)`)
		ended <- err
	}()
	for {
		reading, err := account.Read(t.Context())
		expect.NoError(t, err)
		if reading.Values["waiting for a lock"] == 1 && reading.Values["in a transaction, waiting for the client"] >= 1 {
			break
		}
	}
	exec(t, holder, `ROLLBACK`)
	expect.NoError(t, <-ended)
}

// TestStatisticsByVersion asks only for existing views of the log and of checkpoints.
func TestStatisticsByVersion(t *testing.T) {
	for version, want := range map[int64]string{
		130000: queryActivity + queryWriter, 140000: queryActivity + queryLog + queryWriter, 170000: queryActivity + queryLog + queryCheckpointer,
	} {
		if got := statisticsQuery(version); got != want {
			t.Errorf("version %d: %s", version, got)
		}
	}
}
