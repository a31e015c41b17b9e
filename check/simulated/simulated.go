// Package simulated makes histories for the tests of checks, and gives them to judges:
// clients whose
// operations take effect one after the other in memory, at some moment between
// invocation and completion. Some crash: nobody knows then whether the operation
// took effect, which it may do at any later time, or never.
package simulated

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"assay/history"
	"assay/history/exchange"
)

// Action is what a client is about to do. Effect carries it out and returns the
// answer, or false if it failed and had no effect.
type Action struct {
	Word    string
	Request exchange.Value
	Effect  func() (exchange.Value, bool)
}

// Clients says how a history is made.
type Clients struct {
	Random    *rand.Rand
	Processes int
	// Operations is how many are invoked.
	Operations int
	// Crash is the share of the operations of which nobody learns the outcome.
	Crash float64
}

type pending struct {
	action   Action
	op       exchange.Operation
	done, ok bool
}

// History lets the clients do what next returns for each, and returns the
// operations in the order in which a reader would: as they completed, and then
// those that did not. A client that crashed goes on as another process. next
// returns false when a client has nothing to do any more.
func (c *Clients) History(next func(process int64) (Action, bool)) []exchange.Operation {
	var all []exchange.Operation
	var crashed []*pending
	busy := make([]*pending, c.Processes)
	process := make([]int64, c.Processes)
	for i := range process {
		process[i] = int64(i)
	}
	var now int64
	idle := make([]bool, c.Processes)
	for invoked := 0; slices.Contains(idle, false); {
		if len(crashed) > 0 && c.Random.IntN(20) == 0 {
			crashed[c.Random.IntN(len(crashed))].takeEffect()
		}
		i := c.Random.IntN(c.Processes)
		p := busy[i]
		switch {
		case p == nil:
			var a Action
			more := invoked < c.Operations
			if more {
				a, more = next(process[i])
			}
			if idle[i] = !more; !more {
				continue
			}
			invoked++
			busy[i] = &pending{action: a, op: exchange.Operation{
				Line: int(now) + 1, Index: now, Process: process[i], Function: exchange.Other, Word: a.Word, Request: a.Request,
				Invoke: now, Complete: exchange.Never, InvokeTime: now * 1000, CompleteTime: exchange.NoTime,
			}}
			now++
		case c.Random.Float64() < c.Crash/2:
			if c.Random.IntN(2) == 0 {
				p.op.Complete, p.op.CompleteTime = now, now*1000
				now++
			}
			all = append(all, p.op)
			crashed = append(crashed, p)
			busy[i] = nil
			process[i] += int64(c.Processes)
		case !p.done:
			p.takeEffect()
		default:
			p.op.Outcome, p.op.Complete, p.op.CompleteTime = history.Failed, now, now*1000
			if p.ok {
				p.op.Outcome = history.Committed
			}
			now++
			all = append(all, p.op)
			busy[i] = nil
		}
	}
	slices.SortStableFunc(all, func(a, b exchange.Operation) int { return cmp.Compare(a.Complete, b.Complete) })
	return all
}

func (p *pending) takeEffect() {
	if p.done {
		return
	}
	p.done = true
	p.op.Answer, p.ok = p.action.Effect()
}

// Read returns the operations of a history in EDN, with their values as written.
func Read(text string) ([]exchange.Operation, error) {
	r, err := exchange.NewReader(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	r.Untyped()
	var all []exchange.Operation
	for {
		op, err := r.Next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return all, nil
			}
			return nil, err
		}
		all = append(all, *op.Clone())
	}
}

// Events writes a history in EDN of events such as "0 invoke add 1", separated
// by semicolons.
func Events(short string) string {
	var b strings.Builder
	for _, event := range strings.Split(short, ";") {
		words := strings.SplitN(strings.TrimSpace(event), " ", 4)
		if words[0] == "" {
			continue
		}
		words = append(words, "nil", "nil", "nil")
		fmt.Fprintf(&b, "{:process %s, :type :%s, :f :%s, :value %s}\n", words[0], words[1], words[2], words[3])
	}
	return b.String()
}

// Int is a whole number.
func Int(v int64) exchange.Value { return exchange.Value{Atom: exchange.Int64(v)} }

// Ints is a list of whole numbers.
func Ints[T ~int | ~int64](values ...T) exchange.Value {
	list := exchange.Value{Form: exchange.List}
	for _, v := range values {
		list.Items = append(list.Items, Int(int64(v)))
	}
	return list
}

// List is a list of values.
func List(values ...exchange.Value) exchange.Value {
	return exchange.Value{Form: exchange.List, Items: values}
}

// Word is a keyword.
func Word(text string) exchange.Value {
	return exchange.Value{Atom: exchange.Atom{Kind: exchange.Keyword, Text: text}}
}
