package histories

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/expect"
)

var longHistory = flag.Int("runner.history", 1_000_000, "operations of the histories of BenchmarkHistories")

// BenchmarkHistories writes long histories as EDN, in which ten processes work at the same
// time, and judges them as `assay check` does:
//
//	go test ./runner -run '^$' -bench Histories -benchtime 1x
func BenchmarkHistories(b *testing.B) {
	for _, kind := range []string{"list-append", "rw-register", "keyed", "bank", "set", "kafka"} {
		path := filepath.Join(b.TempDir(), kind+".edn")
		writeLong(b, path, kind, *longHistory)
		b.Run(kind, func(b *testing.B) {
			for b.Loop() {
				h, err := Check(b.Context(), path, Options{Timeout: 10 * time.Minute})
				if expect.NoError(b, err); h.Verdict.String() != "valid" {
					b.Fatalf("%s: %s", h.Verdict, h.Detail)
				}
			}
		})
	}
}

// writeLong writes a history of this many operations. Concurrent ones happen in the order of
// processes.
func writeLong(tb testing.TB, path, kind string, operations int) {
	tb.Helper()
	file, err := os.Create(path)
	expect.NoError(tb, err)
	out, r, index := bufio.NewWriter(file), rand.New(rand.NewPCG(1, 2)), 0
	event := func(typ string, process int, f, value string) {
		fmt.Fprintf(out, "{:index %d, :time %d, :type :%s, :process %d, :f :%s, :value %s}\n", index, 1000*index, typ, process, f, value)
		index++
	}
	const processes = 10
	held, written := map[int][]string{}, 0
	logs := newBrokers(r, processes)
	balances := []int{operations, operations, operations, operations} // enough for all transfers
	for done := 0; done < operations; done += processes {
		var answers [processes]func() (f, value string)
		for p := range processes {
			switch kind {
			case "bank":
				answers[p] = bankOperation(r, balances, func(f, value string) { event("invoke", p, f, value) })
			case "kafka":
				answers[p] = logs.operation(p, func(f, value string) { event("invoke", p, f, value) })
			case "set":
				element := fmt.Sprint(done + p)
				event("invoke", p, "add", element)
				answers[p] = func() (string, string) { held[0] = append(held[0], element); return "add", element }
			default:
				written++
				key, own := done/100+r.IntN(8), written
				txn := func(read string) string {
					word := map[bool]string{true: "w", false: "append"}[kind == "rw-register"]
					text := fmt.Sprintf("[[:r %d %s] [:%s %d %d]]", key, read, word, key, own)
					if kind == "keyed" {
						text = fmt.Sprintf("[%d %s]", key, text)
					}
					return text
				}
				event("invoke", p, "txn", txn("nil"))
				answers[p] = func() (string, string) {
					read := "nil"
					if all := held[key]; len(all) > 0 && kind == "rw-register" {
						read = all[len(all)-1]
					} else if len(all) > 0 {
						read = "[" + strings.Join(all, " ") + "]"
					}
					held[key] = append(held[key], fmt.Sprint(own))
					return "txn", txn(read)
				}
			}
		}
		for p, answer := range answers {
			f, value := answer()
			event("ok", p, f, value)
		}
	}
	if kind == "set" {
		event("invoke", 0, "read", "nil")
		event("ok", 0, "read", "#{"+strings.Join(held[0], " ")+"}")
	}
	expect.NoError(tb, out.Flush())
	expect.NoError(tb, file.Close())
}

func bankOperation(r *rand.Rand, balances []int, invoke func(f, value string)) func() (f, value string) {
	if r.IntN(2) == 0 {
		invoke("read", "nil")
		return func() (string, string) {
			return "read", fmt.Sprintf("{0 %d, 1 %d, 2 %d, 3 %d}", balances[0], balances[1], balances[2], balances[3])
		}
	}
	from, to := r.IntN(4), r.IntN(4)
	value := fmt.Sprintf("{:from %d, :to %d, :amount 1}", from, to)
	invoke("transfer", value)
	return func() (string, string) {
		balances[from]--
		balances[to]++
		return "transfer", value
	}
}

// brokers are logs, and each client's position in each.
type brokers struct {
	*rand.Rand
	logs   [8][]int
	polled [][8]int
	sent   int
}

func newBrokers(r *rand.Rand, clients int) *brokers {
	return &brokers{Rand: r, polled: make([][8]int, clients)}
}

// operation invokes a send or a poll and returns its answer. A poll returns what the client has not
// polled, so each client polls every value.
func (b *brokers) operation(client int, invoke func(f, value string)) func() (f, value string) {
	if b.IntN(2) == 0 {
		key := b.IntN(len(b.logs))
		b.sent++
		value := b.sent
		invoke("send", fmt.Sprintf("[[:send %d %d]]", key, value))
		return func() (string, string) {
			b.logs[key] = append(b.logs[key], value)
			return "send", fmt.Sprintf("[[:send %d [%d %d]]]", key, len(b.logs[key])-1, value)
		}
	}
	invoke("poll", "[[:poll]]")
	return func() (string, string) {
		var keys []string
		for key, log := range b.logs {
			var pairs []string
			for at := b.polled[client][key]; at < min(len(log), b.polled[client][key]+4); at++ {
				pairs = append(pairs, fmt.Sprintf("[%d %d]", at, log[at]))
			}
			if b.polled[client][key] += len(pairs); len(pairs) > 0 {
				keys = append(keys, fmt.Sprintf("%d [%s]", key, strings.Join(pairs, " ")))
			}
		}
		return "poll", "[[:poll {" + strings.Join(keys, ", ") + "}]]"
	}
}

// The histories of the benchmark are valid.
func TestLongHistoriesAreValid(t *testing.T) {
	for _, kind := range []string{"list-append", "rw-register", "keyed", "bank", "set", "kafka"} {
		path := filepath.Join(t.TempDir(), kind+".edn")
		writeLong(t, path, kind, 3000)
		h, err := Check(t.Context(), path, Options{Timeout: time.Minute})
		if expect.NoError(t, err); h.Verdict.String() != "valid" {
			t.Errorf("%s: %s: %s", kind, h.Verdict, h.Detail)
		}
	}
}
