package tpcc

import (
	"context"
	"fmt"
	"path/filepath"

	"assay/check"
	"assay/history"
	"assay/measure"
	"assay/report"
	"assay/workload/definition"
)

// Judge implements definition.Config. A missing or cut state gives unknown verdicts, malformed
// files a *history.FormatError.
//
// It reads the history twice and the state once. Memory is a byte per operation and stock, 32
// per order, 40 per customer, and 12 for each stock of a warehouse with orders: some 300 MB for
// 100 warehouses and 32 MB per million orders.
func (c *Config) Judge(_ context.Context, seed uint64, e definition.Evidence) (definition.Judgement, error) {
	j := newJudge(*c, seed, e)
	for _, step := range []func() error{j.firstReading, j.readState, j.secondReading, j.readIsolation} {
		if err := step(); err != nil {
			return definition.Judgement{}, err
		}
	}
	j.conditions()
	j.unaccounted()
	return j.summarize(), nil
}

type judge struct {
	config     Config
	population *Population
	inputs     *Inputs
	evidence   definition.Evidence
	operations operations
	// decks are the clients' current decks.
	decks map[int]*deck
	// missing says why rows may be missing; empty if none are.
	missing string

	// items counts the rows of each item.
	items      []uint8
	warehouses []warehouseSums
	districts  []districtSums
	customers  []customerSums
	// stock is by warehouse and item, for warehouses with orders; stocked counts the rows.
	stock   [][]stockSums
	stocked [][]uint8
	// dated is true once byClock is known: runs of earlier versions have dates of clients'
	// clocks.
	dated, byClock bool
	// By operation: delivered has the districts delivered, as bits; results the orders counted.
	delivered map[int64]uint16
	results   map[int64]int64
	// ordered and opening are the orders of the last lines, which come sorted.
	ordered     NewOrderInput
	opening     Order
	openingLine []OrderLine

	consistency, orders, payments, deliveries, stocks, answers check.Result
	// isolation is the check of the isolation tests, nil without them.
	isolation      *check.Result
	isolationTests []report.IsolationTest
	isolationNote  string
	counts         history.Counts
	// acknowledged counts commits by kind; unknown and unknownDone count operations that write.
	acknowledged         [KindStockLevel + 1]int64
	unknown, unknownDone int64
	// rows counts rows read, answered the answers compared.
	rows, answered int64
	paces          map[uint8]*definition.Pace
}

// warehouseSums is a warehouse's row and the sums of other rows.
type warehouseSums struct {
	there                    bool
	ytd, districts, payments int64
}

type districtSums struct {
	there                            bool
	ytd, next, payments              int64
	orders                           []orderRecord // by number, from 1
	count, last, lineCount, lines    int64
	oldest, newest, undelivered, won int64
}

// customerSums is a customer's row minus the sums of other rows: 0 if all agree.
type customerSums struct {
	// balance includes deliveries and payments; total is C_YTD_PAYMENT.
	balance, total       int64
	payments, deliveries int32
	// notes sums hashes of the payments' notes, minus those of payments; noted is their length.
	notes int64
	noted int32
	// badCredit: payments are noted in the data. otherData: the rest differs from the loaded
	// data.
	badCredit, otherData bool
}

// stockSums is what orders took from a stock.
type stockSums struct{ ytd, orders, remote int32 }

type orderRecord struct {
	operation, delivery int64
	// amount is the sum of the lines.
	amount   int64
	lineSet  uint16 // as bits, from 1
	customer int16
	carrier  uint8
	lines    uint8
	flags    uint8
}

const (
	orderThere uint8 = 1 << iota
	orderNew         // it is in new_order
)

func newJudge(config Config, seed uint64, e definition.Evidence) *judge {
	p := NewPopulation(config, seed)
	districts := config.Warehouses * Districts
	named := func(name string) check.Result { return check.Result{Name: name} }
	return &judge{
		config: config, population: p, inputs: NewInputs(p), evidence: e,
		warehouses: make([]warehouseSums, config.Warehouses), districts: make([]districtSums, districts),
		customers: make([]customerSums, districts*config.Customers), stock: make([][]stockSums, config.Warehouses),
		items: make([]uint8, config.Items+1), stocked: make([][]uint8, config.Warehouses),
		decks: map[int]*deck{}, delivered: map[int64]uint16{}, results: map[int64]int64{},
		consistency: named(CheckConsistency), orders: named(CheckOrders), payments: named(CheckPayments),
		deliveries: named(CheckDeliveries), stocks: named(CheckStock), answers: named(CheckAnswers),
	}
}

func (j *judge) readIsolation() (err error) {
	j.isolation, j.isolationTests, j.isolationNote, err = judgeIsolation(filepath.Dir(j.evidence.State), j.evidence.Promise)
	return err
}

func (j *judge) kind(client int, seq uint64) uint8 {
	d := j.decks[client]
	if d == nil {
		d = &deck{}
		j.decks[client] = d
	}
	return d.kind(j.inputs, client, seq)
}

// firstReading learns which operations began and how they ended.
func (j *judge) firstReading() error {
	var scope measure.ScopeFinder
	_, err := history.Read(j.evidence.History, history.Visitor{
		Op: func(op *history.Op) error {
			scope.Ended(op.End)
			if op.Kind < KindNewOrder || op.Kind > KindStockLevel || op.Kind != j.kind(op.Client, op.Seq) || !j.operations.record(op) {
				return &history.FormatError{Path: j.evidence.History, Reason: "an operation that is none of this run"}
			}
			if op.Last {
				j.counts.Add(op.Final, 1)
				if op.Final == history.Committed {
					j.acknowledged[op.Kind]++
				}
			}
			return nil
		},
		Reservation: func(r history.Reservation) error { j.operations.reserve(r); return nil },
		Event:       scope.Event,
	})
	j.paces = map[uint8]*definition.Pace{}
	for kind := KindNewOrder; kind <= KindStockLevel; kind++ {
		j.paces[kind] = definition.NewPace(scope.Scope())
	}
	return err
}

func (j *judge) readState() (err error) {
	j.missing, err = j.evidence.Missing(replay(j.evidence.State, func(r row) error {
		j.rows++
		j.row(r)
		return nil
	}))
	return err
}

func find(to *check.Result, kind string, fields map[string]int64, format string, of ...any) {
	to.Add(check.Evidence{Kind: kind, Text: fmt.Sprintf(format, of...), Fields: fields})
}

const (
	kindLost     = "lost"
	kindDoubled  = "doubled"
	kindAltered  = "altered"
	kindStray    = "foreign"
	kindFailed   = "failed"
	kindHalf     = "half done"
	kindTotal    = "total"
	kindOther    = "other answer"
	kindQuantity = "quantity"
)

func describe(id int64) string {
	if id < 0 {
		return "the loading"
	}
	client, seq, ok := SplitID(id)
	if !ok {
		return fmt.Sprintf("operation %d, which no client can have made,", id)
	}
	return fmt.Sprintf("operation %d of client %d", seq, client)
}

// claim marks the operation that made a row, which what names, or reports the fault. sound is
// true for the operation's first row.
func (j *judge) claim(to *check.Result, kind uint8, id int64, what string) (sound bool) {
	fields := map[string]int64{"operation": id}
	client, seq, ok := SplitID(id)
	var s *state
	if ok {
		s = j.operations.find(client, seq)
	}
	switch {
	case s == nil || j.kind(client, seq) != kind:
		find(to, kindStray, fields, "%s is there, and no such operation of this run was begun: %s", what, describe(id))
		return false
	case s.has(applied):
		find(to, kindDoubled, fields, "%s is there, and %s has another one", what, describe(id))
		return false
	}
	*s |= applied
	if o := s.outcome(); o == history.Failed || o == history.Rejected {
		find(to, kindFailed, fields, "%s is there, and %s was %s", what, describe(id), o)
	}
	return true
}

// unaccounted finds acknowledged operations that are missing, and counts the unknown ones.
func (j *judge) unaccounted() {
	for client, c := range j.operations.clients {
		for seq, s := range c.states {
			kind := j.kind(client, uint64(seq))
			to, what := j.checkOf(kind)
			if to == nil || !s.has(recorded) {
				continue
			}
			switch s.outcome() {
			case history.Committed:
				if !s.has(applied) && j.missing == "" {
					id := OperationID(client, uint64(seq))
					find(to, kindLost, map[string]int64{"operation": id, "client": int64(client), "seq": int64(seq)},
						"%s was acknowledged, and %s is not there", describe(id), what)
				}
			case history.Unknown:
				j.unknown++
				if s.has(applied) {
					j.unknownDone++
				}
			}
		}
	}
}

// checkOf is a kind's check and the noun for its row; nil for kinds that only read.
func (j *judge) checkOf(kind uint8) (to *check.Result, what string) {
	switch kind {
	case KindNewOrder:
		return &j.orders, "its order"
	case KindPayment:
		return &j.payments, "its payment"
	case KindDelivery:
		return &j.deliveries, "its result"
	default:
		return nil, ""
	}
}
