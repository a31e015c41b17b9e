package sqlite

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/isolation"
)

func isolationRun(round string) (drivertest.ShortRun, error) {
	seed, err := strconv.ParseUint(round, 10, 64)
	c := isolation.Defaults()
	c.Test = "all"
	return drivertest.ShortRun{Workload: isolation.Definition(), Config: &c, Seed: seed, Clients: childClients, Each: 10_000_000, Attempts: 2}, err
}

// isolationChild records its run until it is killed.
func isolationChild(address, round string, _ io.Writer) error {
	run, err := isolationRun(round)
	if err != nil {
		return err
	}
	s, err := Open(context.Background(), store.Target{Address: address}, isolation.Schema())
	if err != nil {
		return err
	}
	return run.Do(context.Background(), s, os.Getenv(childHistory))
}

// TestKilledIsolationRun kills the process in a run. The database has what the lost last records
// were about, which must not convict it.
func TestKilledIsolationRun(t *testing.T) {
	binary, err := os.Executable()
	expect.NoError(t, err)
	lost := int64(0)
	// Chance decides whether a kill comes in the middle.
	for round := 0; round < 3 || lost == 0 && round < 15; round++ {
		address := "sqlite:" + filepath.Join(t.TempDir(), "x.db") + "?synchronous=off"
		path := filepath.Join(t.TempDir(), "history")
		command := exec.CommandContext(t.Context(), binary)
		command.Env = append(os.Environ(), childAddress+"="+address, childRound+"="+strconv.Itoa(round), childHistory+"="+path)
		command.Stderr = os.Stderr
		expect.NoError(t, command.Start())
		ended := make(chan error, 1)
		go func() { ended <- command.Wait() }()
		for size := int64(0); size < 60_000; {
			select {
			case err := <-ended:
				t.Fatalf("the child ended by itself: %v", err)
			case <-time.After(time.Millisecond):
			}
			if info, err := os.Stat(path); err == nil {
				size = info.Size()
			}
		}
		expect.NoError(t, command.Process.Kill())
		<-ended
		run, err := isolationRun(strconv.Itoa(round))
		expect.NoError(t, err)
		j := run.JudgeDone(t.Context(), t, openIsolation(t, address), path)
		for _, r := range j.Results {
			if r.Verdict.String() != "valid" {
				t.Errorf("%s is %v: %s %+v", r.Name, r.Verdict, r.Detail, r.Evidence)
			}
		}
		if j.Counts.Committed < 300 {
			t.Errorf("%+v", j.Counts)
		}
		lost += j.Counts.Unknown
	}
	if lost == 0 {
		t.Error("no record was lost; the runs were not killed in the middle")
	}
}
