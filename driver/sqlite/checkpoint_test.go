package sqlite

import (
	"database/sql"
	"path/filepath"
	"sync"
	"testing"

	"assay/history"
	"assay/internal/expect"
	"assay/workload"
	"assay/workload/bank"
)

// TestCheckpointsUnderLoad: two processes work on one file during checkpoints of each kind, some of
// which restart the write-ahead log, until both are killed. All that was committed must be there.
func TestCheckpointsUnderLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	address := "sqlite:" + path
	s := openStore(t, address)
	ledger := load(t, s.Store, 4)
	answers := make([][]childAnswer, 2)
	var children sync.WaitGroup
	for round := range answers {
		children.Go(func() { answers[round] = runAndKill(t, address, round, 150) })
	}
	killed := make(chan struct{})
	go func() {
		children.Wait()
		close(killed)
	}()
	whole := checkpoints(t, path, killed)
	for round, told := range answers {
		next := map[int]uint64{}
		for _, a := range told {
			ledger.Record(a.transfer, a.reply)
			client, seq, _ := workload.SplitOperationID(a.transfer.ID)
			next[client] = seq + 1
		}
		for i := range childClients { // what was in flight
			client := round*childClients + i
			ledger.Record(childTransfer(workload.OperationID(client, next[client])), bank.Reply{})
		}
	}
	ledger.Check(t.Context(), t, s.Store)
	if n := ledger.Count(history.Committed); n < 2*150 || whole == 0 {
		t.Errorf("%d transfers were committed, and %d checkpoints reached the end of the log", n, whole)
	}
}

// checkpoints runs until the processes have ended and counts the unhindered restarts of the log.
func checkpoints(t *testing.T, path string, ended <-chan struct{}) (whole int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	expect.NoError(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	for {
		for _, kind := range []string{"PASSIVE", "FULL", "RESTART", "TRUNCATE"} {
			var busy, log, copied int
			if err := db.QueryRowContext(t.Context(), "PRAGMA wal_checkpoint("+kind+")").Scan(&busy, &log, &copied); err != nil {
				t.Errorf("%s: %v", kind, err)
				return whole
			}
			if busy == 0 && kind == "TRUNCATE" {
				whole++
			}
		}
		select {
		case <-ended:
			return whole
		default:
		}
	}
}
