package ledger

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
)

const (
	ledgerClients  = 64
	ledgerEach     = 156_250 // transfers of a client
	ledgerAll      = ledgerClients * ledgerEach
	ledgerAccounts = 100_000
	ledgerLoaded   = 1_000_000 // in each account
)

// BenchmarkOrder judges ten million committed transfers of 64 clients over a hundred thousand
// accounts with all checks: versions, balances and times of each, twenty thousand audits of eight
// accounts, and a hundred of all. The journal comes in the order of writing, by client and
// operation as a table sorted by its key gives it, or in no order.
//
// ns/transfer covers history, journal, accounts and results. MiB-peak is the process's largest
// memory ever; 76 are the benchmark's own. It is right only if one benchmark runs alone:
//
//	go test ./check/ledger -run '^$' -bench BenchmarkOrder/written -benchtime 1x
func BenchmarkOrder(b *testing.B) {
	for _, c := range []struct {
		name  string
		order func(n uint64) (client int, seq uint64)
	}{
		{"written", func(n uint64) (int, uint64) { return int(n % ledgerClients), n / ledgerClients }},
		{"by-id", func(n uint64) (int, uint64) { return int(n / ledgerEach), n % ledgerEach }},
		{"in-no-order", func(n uint64) (int, uint64) {
			n = n * 7_654_321 % ledgerAll
			return int(n % ledgerClients), n / ledgerClients
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				j := newReplay(ledgerAll).judge(b, c.order)
				for _, r := range j.Results()[2:] {
					if r.Verdict != check.Valid {
						b.Fatalf("%s is %v, %d found: %s", r.Name, r.Verdict, r.Found, r.Detail)
					}
				}
				b.ReportMetric(peak(b), "MiB-peak")
				runtime.KeepAlive(j)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/ledgerAll, "ns/transfer")
		})
	}
}

// BenchmarkFile judges ASSAY_TRANSFERS transfers (default: ten million) in the order of writing.
// Beyond 64 MiB, their times and rows are in a file in the folder ASSAY_FOLDER. The work is not
// kept, but done twice.
//
//	ASSAY_TRANSFERS=100000000 ASSAY_FOLDER=/var/tmp go test ./check/ledger -run "^$" -bench BenchmarkFile -benchtime 1x -timeout 1h
func BenchmarkFile(b *testing.B) {
	transfers := uint64(ledgerAll)
	if text := os.Getenv("ASSAY_TRANSFERS"); text != "" {
		if _, err := fmt.Sscan(text, &transfers); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		r := newReplay(0)
		r.books.Folder, r.books.Memory = os.Getenv("ASSAY_FOLDER"), 64<<20
		j := r.history(b, transfers)
		state := r.state
		r.start()
		for n := range transfers {
			client, seq := int(n%ledgerClients), n/ledgerClients
			source, destination, amount, from, to := r.move(client, seq)
			j.Row(Row{j.config.ID(client, seq), source, destination, amount, from.version, to.version})
		}
		for i, a := range state {
			j.Account(int64(i)+1, a.balance, a.version)
		}
		for _, result := range j.Results() {
			if result.Verdict != check.Valid {
				b.Fatalf("%s is %v: %s", result.Name, result.Verdict, result.Detail)
			}
		}
		b.ReportMetric(peak(b), "MiB-peak")
		expect.NoError(b, j.Close())
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(transfers), "ns/transfer")
}

// peak is the largest memory of the process ever, in MiB.
func peak(b *testing.B) float64 {
	status, err := os.ReadFile("/proc/self/status")
	expect.NoError(b, err)
	var kib float64
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscanf(line, "%f kB", &kib); err != nil {
		b.Fatal(err)
	}
	return kib / 1024
}

type replay struct {
	books Config
	state []account
	// versions are those that each transfer gave, in the order of the transfers.
	versions [][sides]uint32
}

func newReplay(kept int) *replay {
	r := &replay{books: audited(books(ledgerAccounts)), versions: make([][sides]uint32, kept)}
	r.books.Opening = func(int64) int64 { return ledgerLoaded }
	r.books.Expect = func(id int64) (source, destination, amount int64) {
		h := fingerprint(id, 0)
		source = int64(h % ledgerAccounts)
		destination = (source + 1 + int64(h>>20%(ledgerAccounts-1))) % ledgerAccounts
		return source + 1, destination + 1, int64(h>>56) + 1
	}
	r.books.Audited = func(_ int, seq uint64) (list []int64) {
		for i := range int64(8) {
			list = append(list, (int64(seq)*13+i*i)%ledgerAccounts+1)
		}
		return list
	}
	r.start()
	return r
}

func (r *replay) start() {
	r.state = make([]account, ledgerAccounts)
	for i := range r.state {
		r.state[i].balance = ledgerLoaded
	}
}

// history returns a judge with the history of the given number of transfers.
func (r *replay) history(b *testing.B, transfers uint64) *Judge {
	j, err := New(r.books)
	expect.NoError(b, err)
	for client := range ledgerClients + 2 {
		j.Reserve(history.Reservation{Client: client, UpTo: transfers / ledgerClients})
	}
	for n := range transfers {
		r.transfer(j, n)
		if n%500 == 499 {
			r.audits(j, n+1)
		}
	}
	return j
}

func (r *replay) judge(b *testing.B, order func(n uint64) (client int, seq uint64)) *Judge {
	j := r.history(b, ledgerAll)
	for n := range uint64(ledgerAll) {
		client, seq := order(n)
		id := j.config.ID(client, seq)
		source, destination, amount := j.config.Expect(id)
		given := r.versions[seq*ledgerClients+uint64(client)]
		j.Row(Row{id, source, destination, amount, int64(given[debit]), int64(given[credit])})
	}
	for i, a := range r.state {
		j.Account(int64(i)+1, a.balance, a.version)
	}
	return j
}

func (r *replay) transfer(j *Judge, n uint64) {
	client, seq := int(n%ledgerClients), n/ledgerClients
	_, _, _, from, to := r.move(client, seq)
	if n < uint64(len(r.versions)) {
		r.versions[n] = [sides]uint32{uint32(from.version), uint32(to.version)}
	}
	at := int64(n) * 1000
	values := [4]int64{from.balance, from.version, to.balance, to.version}
	j.Op(&history.Op{Client: client, Seq: seq, Last: true, Kind: kindTransfer, First: at - 30_000, End: at + 30_000,
		Outcome: history.Committed, Final: history.Committed, Values: values[:]})
}

func (r *replay) move(client int, seq uint64) (source, destination, amount int64, from, to *account) {
	source, destination, amount = r.books.Expect(r.books.ID(client, seq))
	from, to = &r.state[source-1], &r.state[destination-1]
	from.balance, from.version = from.balance-amount, from.version+1
	to.balance, to.version = to.balance+amount, to.version+1
	return source, destination, amount, from, to
}

// audits gives the judge the audits done after n transfers.
func (r *replay) audits(j *Judge, n uint64) {
	at := int64(n) * 1000
	audit := func(kind uint8, client int, values []int64) {
		j.Op(&history.Op{Client: client, Seq: n / 500, Last: true, Kind: kind, First: at - 500, End: at + 500,
			Outcome: history.Committed, Final: history.Committed, Values: values})
	}
	var values []int64
	for _, id := range r.books.Audited(ledgerClients, n/500) {
		a := r.state[id-1]
		values = append(values, a.balance, a.version)
	}
	audit(kindAudit, ledgerClients, values)
	if n%100_000 == 0 {
		audit(kindFullAudit, ledgerClients+1, []int64{ledgerAccounts, ledgerAccounts * ledgerLoaded, int64(n) * 2})
	}
}
