package recorded

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assay/check"
	"assay/history/exchange"
)

// opened returns a judge: of a kind ("set"), by a model ("kafka read-committed"), of a bank with
// known facts ("bank 100 negative :a :b"), or of the kind that the operations show ("set?").
func opened(kind string) Judge {
	words := strings.Fields(kind)
	if words[0] == "bank" {
		var b Bank
		for _, w := range words[1:] {
			if total, err := strconv.ParseInt(w, 10, 64); err == nil {
				b.Total = &total
			} else if b.NegativeAllowed = b.NegativeAllowed || w == "negative"; w != "negative" {
				b.Accounts = append(b.Accounts, w)
			}
		}
		return b.Open()
	}
	name := strings.TrimSuffix(words[0], "?")
	for _, c := range Checkers() {
		if slices.Contains(c.Names, name) {
			if name != words[0] {
				name = ""
			}
			return c.Open(name, strings.Join(words[1:], " "))
		}
	}
	panic(kind + " is no kind of history")
}

func readAs(kind exchange.Kind, text string) (all []exchange.Operation, err error) {
	r, err := exchange.NewReader(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	if r.Untyped(); kind != exchange.AsWritten {
		r.Typed(kind)
	}
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

// edn writes a history in EDN from events such as "0 invoke add 1", separated by semicolons.
func edn(short string) string {
	var b strings.Builder
	for _, event := range strings.Split(short, ";") {
		words := strings.SplitN(strings.TrimSpace(event), " ", 4)
		if words[0] != "" {
			words = append(words, "nil", "nil", "nil")
			fmt.Fprintf(&b, "{:process %s, :type :%s, :f :%s, :value %s}\n", words[0], words[1], words[2], words[3])
		}
	}
	return b.String()
}

// mustRead returns the operations of a history in the form of edn.
func mustRead(t *testing.T, short string) []exchange.Operation {
	t.Helper()
	kind := exchange.AsWritten
	if strings.Contains(short, " transfer ") || strings.Contains(short, "fail read") {
		kind = exchange.Bank
	}
	ops, err := readAs(kind, edn(short))
	if err != nil {
		t.Fatalf("%v in %s", err, short)
	}
	return ops
}

func judged(t *testing.T, j Judge, ops []exchange.Operation) check.Result {
	t.Helper()
	for i := range ops {
		if err := j.Add(&ops[i]); err != nil {
			t.Fatalf("%v of %+v", err, ops[i])
		}
	}
	return j.Result(t.Context())
}

// expectAll gives each short history to a judge and compares the verdict. The judge's words,
// evidence and its kinds included, must contain says.
func expectAll(t *testing.T, cases []minimal) {
	t.Helper()
	for _, c := range cases {
		r := judged(t, opened(c.kind), mustRead(t, c.events))
		text := r.Detail
		for _, e := range r.Evidence {
			text += "\n" + e.Kind + ": " + e.Text
		}
		if r.Verdict != c.want || !strings.Contains(text, c.says) || (r.Found > 0) != (c.want == check.Violated) {
			t.Errorf("%s of %s: %v, %d found\n%s\nwant %v: %s", c.kind, c.events, r.Verdict, r.Found, text, c.want, c.says)
		}
		if name := strings.Fields(c.kind)[0]; r.Name != name && name != "bank" && !strings.HasSuffix(name, "?") {
			t.Errorf("a %s is called %s", name, r.Name)
		}
	}
}

// FuzzJudges gives judges arbitrary operations in any order, as a reader would return them. None
// may panic, and each must count what it lists.
func FuzzJudges(f *testing.F) {
	for _, seed := range []string{
		"0 invoke add 1; 0 ok add 1; 1 invoke read; 1 ok read [1 1 2]", "0 invoke enqueue 1; 1 invoke drain; 1 ok drain [1 2]",
		"0 invoke dequeue; 0 ok dequeue :a", "0 invoke generate; 0 ok generate 5", "0 invoke add 4; 0 info add; 1 invoke read; 1 ok read 7",
		"0 invoke write [[:w 1 1]]; 0 ok write; 1 invoke read [[:r 1 nil] [:r 2 nil]]; 1 ok read [[:r 1 1] [:r 2 nil]]",
		"0 invoke write 1; 1 invoke read; 1 ok read [1 2]", "1 invoke read 7; 1 ok read [7 [1 nil]]", "0 invoke insert [1 [1 nil]]; 0 ok insert",
		"0 invoke read-init; 0 ok read-init 0; 0 invoke write 1", "0 invoke add; 0 ok add {:val 1 :sts 2.5}; 1 invoke read; 1 ok read [{:val 1 :sts 3M}]",
		"0 invoke send [[:send 1 10]]; 0 ok send [[:send 1 [0 10]]]; 9 invoke poll [[:poll]]; 9 ok poll [[:poll {1 [[0 10] [2 5]]}]]",
		"9 invoke poll [[:poll]]; 9 ok poll [[:poll {1 [[-2 10] [-1 5]]}]]",
		"0 invoke txn [[:send 1 10] [:poll]]; 0 info txn; 1 invoke assign [1]; 1 ok assign [1]; 1 invoke subscribe [1]",
		"0 invoke acquire; 0 ok acquire {:fence 5}; 1 invoke acquire; 1 ok acquire 5; 0 invoke release", "0 invoke txn [[:w 1 2]]; 0 ok txn; 1 invoke txn [[:r 1 nil]]; 1 ok txn [[:r 1 3]]",
		"0 invoke transfer {:from 1 :to 2 :amount 5}; 1 invoke read; 1 ok read {1 5 2 -9223372036854775808}; 1 invoke read; 1 ok read {1 nil}",
	} {
		f.Add(seed)
	}
	kinds := []string{"bank", "bank 5", "bank negative 1 2", "set?", "set-full linearizable", "queue?", "kafka read-committed"}
	for _, c := range Checkers() {
		kinds = append(kinds, c.Names...)
	}
	f.Fuzz(func(t *testing.T, short string) {
		for _, kind := range kinds {
			read := exchange.AsWritten
			if strings.HasPrefix(kind, "bank") {
				read = exchange.Bank
			}
			ops, err := readAs(read, edn(short))
			if err != nil {
				continue
			}
			slices.SortStableFunc(ops, func(a, b exchange.Operation) int { return cmp.Compare(a.Complete, b.Complete) })
			j := opened(kind)
			for i := range ops {
				if j.Add(&ops[i]) != nil {
					break
				}
			}
			r := j.Result(t.Context())
			if (r.Verdict == check.Violated) != (r.Found > 0) || r.Found < int64(len(r.Evidence)) || r.Found > 0 && len(r.Evidence) == 0 || r.Detail == "" {
				t.Errorf("%s of %s: %v with %d found and %d listed: %q", kind, short, r.Verdict, r.Found, len(r.Evidence), r.Detail)
			}
		}
	})
}
