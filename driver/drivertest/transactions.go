package drivertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"assay/history"
	"assay/workload/isolation"
)

// Transactions remembers which transactions over lists and registers were sent and
// what was answered, and compares that with what a Store reads back. It keeps
// everything in memory. It is safe for concurrent use.
type Transactions struct {
	mu      sync.Mutex
	entries []transaction
	// MayLose is true if committed appends may be missing.
	MayLose bool
}

type transaction struct {
	ops     []isolation.Op
	outcome history.Outcome
}

// Record takes one attempt and its answer. Elements and values must be each
// attempt's own.
func (r *Transactions) Record(ops []isolation.Op, outcome history.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, transaction{slices.Clone(ops), outcome})
}

// Contents is what was read back.
type Contents struct {
	Lists     map[int64][]int64
	Registers map[int64]int64
}

// ReadContents reads everything, and gives an error also for what is not in
// order.
func ReadContents(ctx context.Context, store isolation.Store) (Contents, error) {
	c := Contents{Lists: map[int64][]int64{}, Registers: map[int64]int64{}}
	var lists, registers []int64
	err := store.Read(ctx,
		func(key int64, elements []int64) error {
			c.Lists[key] = slices.Clone(elements)
			lists = append(lists, key)
			return nil
		},
		func(key, value int64) error {
			c.Registers[key] = value
			registers = append(registers, key)
			return nil
		})
	for _, keys := range [][]int64{lists, registers} {
		for i := 1; i < len(keys); i++ {
			if err == nil && keys[i] <= keys[i-1] {
				err = fmt.Errorf("key %d comes after %d", keys[i], keys[i-1])
			}
		}
	}
	return c, err
}

// Check waits until nothing is in flight and fails the test for each
// contradiction between what was answered and what is there.
func (r *Transactions) Check(ctx context.Context, t testing.TB, store isolation.Store) Contents {
	t.Helper()
	if err := store.Settle(ctx); err != nil {
		t.Fatalf("Settle: %v", err)
	}
	c, err := ReadContents(ctx, store)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	for _, problem := range r.Problems(c) {
		t.Error(problem)
	}
	return c
}

// Problems describes what contradicts the answers: all or nothing of each
// transaction, all of a committed one, nothing of a failed one, nothing twice
// and nothing else.
func (r *Transactions) Problems(c Contents) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var problems []string
	times := map[[2]int64]int{}
	for key, list := range c.Lists {
		for _, element := range list {
			times[[2]int64{key, element}]++
		}
	}
	possible := map[[2]int64]bool{}  // elements
	values := map[[2]int64]bool{}    // of registers
	committed := map[int64][]int64{} // what must exist: the values of registers
	for _, e := range r.entries {
		var there, missing []string
		for _, o := range e.ops {
			switch o.Kind {
			case isolation.Append, isolation.AppendByRewrite:
				at := [2]int64{o.Key, o.Value}
				if e.outcome != history.Failed {
					possible[at] = true
				}
				if times[at] > 0 {
					there = append(there, fmt.Sprint(at))
				} else {
					missing = append(missing, fmt.Sprint(at))
				}
			case isolation.Write:
				if e.outcome != history.Failed {
					values[[2]int64{o.Key, o.Value}] = true
				}
				if e.outcome == history.Committed {
					committed[o.Key] = append(committed[o.Key], o.Value)
				}
			}
		}
		if problem := e.judge(there, missing, r.MayLose); problem != "" {
			problems = append(problems, problem)
		}
	}
	for at, n := range times {
		if n > 1 {
			problems = append(problems, fmt.Sprintf("element %d is %d times in list %d", at[1], n, at[0]))
		}
		if !possible[at] {
			problems = append(problems, fmt.Sprintf("element %d is in list %d, and no transaction that may have taken effect put it there", at[1], at[0]))
		}
	}
	for key, value := range c.Registers {
		if !values[[2]int64{key, value}] {
			problems = append(problems, fmt.Sprintf("register %d holds %d, which no transaction that may have taken effect wrote", key, value))
		}
	}
	for key, written := range committed {
		if _, exists := c.Registers[key]; !exists {
			problems = append(problems, fmt.Sprintf("register %d does not exist, though %v was written", key, written))
		}
	}
	slices.Sort(problems)
	return problems
}

// judge looks at one transaction, of whose appends some are there and some are
// missing.
func (e transaction) judge(there, missing []string, mayLose bool) string {
	var what string
	switch {
	case e.outcome == history.Failed && len(there) > 0:
		what = "failed, and there is " + strings.Join(there, ", ")
	case e.outcome == history.Committed && len(missing) > 0 && !mayLose:
		what = "committed, and there is no " + strings.Join(missing, ", ")
	case e.outcome == history.Unknown && len(missing) > 0 && len(there) > 0 && !mayLose:
		what = fmt.Sprintf("unknown, and there is %s, but no %s", strings.Join(there, ", "), strings.Join(missing, ", "))
	default:
		return ""
	}
	return fmt.Sprintf("transaction %s: %s", describeOps(e.ops), what)
}

// describeOps describes what a transaction does, for messages of failed tests.
func describeOps(ops []isolation.Op) string {
	names := map[isolation.Kind]string{
		isolation.Append: "append", isolation.AppendByRewrite: "rewrite", isolation.ReadList: "read list",
		isolation.Write: "write", isolation.ReadValue: "read", isolation.Insert: "insert", isolation.Count: "count",
		isolation.Withdraw: "withdraw",
	}
	words := make([]string, len(ops))
	for i, o := range ops {
		words[i] = fmt.Sprintf("%s %d %d", names[o.Kind], o.Key, o.Value)
	}
	return "(" + strings.Join(words, "; ") + ")"
}
