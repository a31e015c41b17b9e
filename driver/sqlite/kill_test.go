package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload"
	"assay/workload/bank"
)

// With these variables set the test binary is the process that is killed.
const (
	childAddress = "ASSAY_TEST_SQLITE_ADDRESS"
	childRound   = "ASSAY_TEST_SQLITE_ROUND"
	// childHistory is the file of a recorded run of isolation.
	childHistory = "ASSAY_TEST_SQLITE_HISTORY"
)

func TestMain(m *testing.M) {
	if address := os.Getenv(childAddress); address != "" {
		work := child
		if os.Getenv(childHistory) != "" {
			work = isolationChild
		}
		if err := work(address, os.Getenv(childRound), os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const childClients = 4

// child does transfers and reports their ends until it is killed.
func child(address, round string, out io.Writer) error {
	number, err := strconv.Atoi(round)
	if err != nil {
		return err
	}
	db, err := Open(context.Background(), store.Target{Address: address}, bank.Schema())
	if err != nil {
		return err
	}
	s := bank.Over(db)
	var telling sync.Mutex
	ended := make(chan error, childClients)
	for i := range childClients {
		go func() {
			n, err := s.Session(context.Background())
			for seq := uint64(0); err == nil; seq++ {
				tr := childTransfer(workload.OperationID(number*childClients+i, seq))
				r := n.Transfer(context.Background(), tr)
				telling.Lock()
				_, err = fmt.Fprintf(out, "%d %d %d %d %d %d\n", tr.ID, r.Outcome,
					r.Source.Balance, r.Source.Version, r.Destination.Balance, r.Destination.Version)
				telling.Unlock()
			}
			ended <- err
		}()
	}
	return <-ended
}

func childTransfer(id int64) bank.Transfer {
	_, seq, _ := workload.SplitOperationID(id)
	source := int64(seq % 4)
	return bank.Transfer{ID: id, Source: 1 + source, Destination: 1 + (source+1+int64(seq/4)%3)%4, Amount: 1 + int64(seq%7)}
}

// TestKilledProcess: what a process killed amid transfers reported as committed must be there.
func TestKilledProcess(t *testing.T) {
	for _, parameters := range []string{"", "?journal=delete"} {
		t.Run("parameters "+parameters, func(t *testing.T) {
			address := "sqlite:" + filepath.Join(t.TempDir(), "x.db") + parameters
			s := openStore(t, address)
			ledger := load(t, s.Store, 4)
			for round := range 3 {
				answers := runAndKill(t, address, round, 40*(round+1))
				next := map[int]uint64{}
				for _, a := range answers {
					ledger.Record(a.transfer, a.reply)
					client, seq, _ := workload.SplitOperationID(a.transfer.ID)
					next[client] = seq + 1
				}
				for i := range childClients { // what was in flight
					client := round*childClients + i
					ledger.Record(childTransfer(workload.OperationID(client, next[client])), bank.Reply{})
				}
				ledger.Check(t.Context(), t, s.Store)
			}
			if n := ledger.Count(history.Committed); n < 40+80+120 {
				t.Errorf("only %d transfers were committed", n)
			}
		})
	}
}

type childAnswer struct {
	transfer bank.Transfer
	reply    bank.Reply
}

// runAndKill kills a child after this many answers and returns them.
func runAndKill(t *testing.T, address string, round, after int) []childAnswer {
	t.Helper()
	binary, err := os.Executable()
	expect.NoError(t, err)
	command := exec.CommandContext(t.Context(), binary)
	command.Env = append(os.Environ(), childAddress+"="+address, childRound+"="+strconv.Itoa(round))
	var complaint strings.Builder
	command.Stderr = &complaint
	out, err := command.StdoutPipe()
	expect.NoError(t, err)
	expect.NoError(t, command.Start())
	var answers []childAnswer
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil { // killed, perhaps amid a line
			break
		}
		var a childAnswer
		var id int64
		r := &a.reply
		if _, err := fmt.Sscan(line, &id, &r.Outcome, &r.Source.Balance, &r.Source.Version,
			&r.Destination.Balance, &r.Destination.Version); err != nil {
			t.Fatalf("the child said %q: %v", line, err)
		}
		a.transfer = childTransfer(id)
		answers = append(answers, a)
		if len(answers) == after {
			expect.NoError(t, command.Process.Kill())
		}
	}
	if err := command.Wait(); len(answers) < after {
		t.Fatalf("the child ended by itself: %v, %s", err, complaint.String())
	}
	return answers
}
