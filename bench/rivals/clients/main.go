// Command clients is what a workload sends, as a bare loop on the client library that assay's
// driver uses: the same operations by the same commands in the same order, and nothing
// recorded or judged. `make bench` has it beside assay.
//
//	clients ADDRESS CLIENTS ROWS SECONDS
//
// It is measured after a second in which it warms up. ROWS are there before the first operation:
// accounts of workload bank, or entities of workload entity on databases without transactions.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"assay/workload/bank"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

// seed is that of all operations.
const seed = 42

// rival is a database as one library has it.
type rival interface {
	// load makes the tables, with the rows that are there before the first operation.
	load(ctx context.Context) error
	// client opens what client number n uses, until the program ends.
	client(ctx context.Context, n int) (operation, error)
}

// operation does the one of this number; it is not done if the database has refused it.
type operation func(seq uint64) (done bool, err error)

func open(address string, rows int64) (rival, error) {
	config := bank.Defaults()
	config.Accounts = rows
	if err := config.Validate(); err != nil {
		return nil, err
	}
	transfers := bank.NewTransfers(config, seed)
	switch scheme, _, _ := strings.Cut(address, ":"); scheme {
	case "sqlite":
		return openSQLite(address, transfers)
	case "mysql":
		return openMySQL(address, transfers)
	case "mongodb":
		return openMongoDB(address, transfers)
	case "redis":
		return openRedis(address, transfers)
	case "etcd":
		return openEtcd(address, transfers)
	case "cassandra":
		return openCassandra(address, rows)
	default:
		return nil, fmt.Errorf("there is no loop for addresses of %q", scheme)
	}
}

func run(ctx context.Context, args []string) error {
	var numbers [3]int
	for i := range numbers {
		if len(args) != 4 {
			return fmt.Errorf("%d arguments where ADDRESS CLIENTS ROWS SECONDS are wanted", len(args))
		}
		n, err := strconv.Atoi(args[i+1])
		if err != nil {
			return err
		}
		numbers[i] = n
	}
	database, err := open(args[0], int64(numbers[1]))
	if err != nil {
		return err
	}
	if err := database.load(ctx); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	all := make([]loop, numbers[0])
	for i := range all {
		if all[i].do, err = database.client(ctx, i); err != nil {
			return fmt.Errorf("open a client: %w", err)
		}
	}
	return measure(all, time.Duration(numbers[2])*time.Second)
}

// warmup is before what is measured, as long as assay's.
const warmup = time.Second

// measure has all clients work for so long, and prints what they did.
func measure(all []loop, duration time.Duration) error {
	from := time.Now().Add(warmup)
	until := from.Add(duration)
	var work sync.WaitGroup
	for i := range all {
		work.Go(func() { all[i].run(from, until) })
	}
	time.Sleep(time.Until(from))
	before, err := used()
	if err != nil {
		return err
	}
	work.Wait()
	took := time.Since(from).Seconds()
	after, err := used()
	if err != nil {
		return err
	}
	var done, refused int64
	for i := range all {
		if all[i].err != nil {
			return all[i].err
		}
		done, refused = done+all[i].done, refused+all[i].refused
	}
	each := float64((after - before).Microseconds()) / float64(max(done, 1))
	fmt.Printf("%d operations in %.3f s, %.1f operations a second, %.2f us of the processor each, %d refused\n", done, took, float64(done)/took, each, refused)
	return nil
}

// used is the processor time of this process so far.
func used() (time.Duration, error) {
	var r syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), err
}

// loop is one client.
type loop struct {
	do            operation
	done, refused int64
	err           error
}

// run counts the operations that begin between the two times.
func (l *loop) run(from, until time.Time) {
	for seq := uint64(0); l.err == nil; seq++ {
		begun := time.Now()
		if !begun.Before(until) {
			return
		}
		var done bool
		done, l.err = l.do(seq)
		switch {
		case begun.Before(from):
		case done:
			l.done++
		default:
			l.refused++
		}
	}
}

// change is what a transfer does to one account.
type change struct{ account, amount int64 }

// ordered are the changes of a transfer, of the account with the lower id first.
func ordered(t bank.Transfer) (first, second change) {
	first, second = change{t.Source, -t.Amount}, change{t.Destination, t.Amount}
	if t.Destination < t.Source {
		return second, first
	}
	return first, second
}

// account is one as a transfer has read it, of a database that does not reckon by itself.
type account struct{ id, balance, version int64 }

// book does a transfer on its accounts, of which the first has the lower id, and gives the row
// of the journal. It is not done if one would be overdrawn.
func book(t bank.Transfer, accounts *[2]account) (journal [6]int64, done bool) {
	first, second := ordered(t)
	for i, c := range [...]change{first, second} {
		accounts[i].balance += c.amount
		accounts[i].version++
		if accounts[i].balance < 0 {
			return journal, false
		}
	}
	source, destination := accounts[0].version, accounts[1].version
	if first.account == t.Destination {
		source, destination = destination, source
	}
	return [6]int64{t.ID, t.Source, t.Destination, t.Amount, source, destination}, true
}
