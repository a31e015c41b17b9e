package ycsb

import (
	"fmt"
	"math"
	"strings"

	"assay/check"
	"assay/history"
	"assay/report"
	"assay/store"
	"assay/workload/definition"
	"assay/workload/keyvalue"
)

// The checks; Definition says what each asserts.
const (
	CheckRecords      = "records"
	CheckReads        = "reads"
	CheckScans        = "scans"
	CheckLinearizable = "linearizable"
	CheckSessions     = "sessions"
)

// Figures are counts beside the verdicts.
type Figures struct {
	report.YCSB
	// Writes are the outcomes of operations that write.
	Outcomes, Writes history.Counts
	// Acknowledged counts acknowledged writes, of loaded records too.
	Acknowledged int64
	// Missing counts reads that did not find a loaded record.
	Missing int64
	// UnknownDone counts unknown writes that a client read.
	UnknownDone int64
}

type judge struct {
	core
	evidence definition.Evidence
	keys     keys
	contents *contents
	promised bool
	// missing says why records may be missing; empty if none are.
	missing string

	clients map[int]*keyvalue.Progress
	// whole is true if the history was closed in order.
	whole bool
	// inserted is, by number from core.records on, when the insert was acknowledged, or never.
	inserted []int64
	// processes share the numbers of inserts.
	processes int64
	// limit is above all numbers of this run's records. writes and attempts count attempts.
	limit            int64
	writes, attempts int64
	// numbers are the records sorted by hashed keys.
	numbers []numbered
	into    []found

	// forgot is true if the clocks of sessions needed too much memory.
	forgot bool

	kept, reads, scanned, linearizable, inSessions check.Result
	figures                                        Figures
}

const never = math.MaxInt64

// maxTogether bounds the writes judged in one pass.
const maxTogether = 4 << 20

// Judge judges a run by its files alone. It reads the history once, and twice per maxTogether
// writes. Without a whole state CheckRecords is unknown; malformed files give a
// *history.FormatError.
func Judge(config Config, seed uint64, e definition.Evidence) ([]check.Result, Figures, error) {
	return judgeTogether(config, seed, e, maxTogether)
}

func judgeTogether(config Config, seed uint64, e definition.Evidence, together int64) ([]check.Result, Figures, error) {
	of, _ := config.core() // Validate says what is wrong
	j := &judge{
		core: of, evidence: e, keys: of.keysOf(seed), contents: newContents(&of, seed),
		promised: e.Promise == store.Linearizable, clients: map[int]*keyvalue.Progress{}, missing: e.InFlight,
		kept: check.Result{Name: CheckRecords}, reads: check.Result{Name: CheckReads},
		scanned: check.Result{Name: CheckScans}, linearizable: check.Result{Name: CheckLinearizable},
		inSessions: check.Result{Name: CheckSessions},
	}
	if err := j.inspect(); err != nil {
		return nil, Figures{}, err
	}
	j.numberKeys()
	passes := 1 + (j.writes+j.limit*j.units()/4)/together
	if !j.promised {
		passes = 1 + (2*j.attempts*j.units()+j.limit*j.units()/4)/together
	}
	for n := range passes {
		if err := newPass(j, n, passes).run(); err != nil {
			return nil, Figures{}, err
		}
	}
	j.summarize()
	results := []check.Result{j.kept, j.reads, j.scanned, j.linearizable}
	if len(j.guarantees()) > 0 {
		results = append(results, j.inSessions)
	}
	return check.Applicable(results, config.NotApplicable()), j.figures, nil
}

func (j *judge) malformed(format string, a ...any) error {
	return &history.FormatError{Path: j.evidence.History, Reason: fmt.Sprintf(format, a...)}
}

// inspect learns which operations began, how much was written, and which records exist.
func (j *judge) inspect() error {
	ending, err := history.Read(j.evidence.History, history.Visitor{
		Header: func(h history.Header) error {
			j.processes = int64(max(len(h.Clocks), 1))
			return nil
		},
		Op: j.enter,
		Reservation: func(r history.Reservation) error {
			j.client(r.Client).Reserved = r.UpTo
			return nil
		},
	})
	j.whole = ending.Whole
	j.limit = j.core.records + int64(len(j.inserted))
	if j.processes > 1 {
		j.limit += j.processes // one may have inserted more than the others
	}
	for _, c := range j.clients {
		j.limit += j.processes * c.Missing(j.whole)
	}
	return err
}

func (j *judge) client(n int) *keyvalue.Progress {
	c := j.clients[n]
	if c == nil {
		c = &keyvalue.Progress{}
		j.clients[n] = c
	}
	return c
}

// enter enters an attempt. A client's attempts come in order.
func (j *judge) enter(op *history.Op) error {
	if err := j.client(op.Client).Enter(op); err != nil {
		return j.malformed("%v", err)
	}
	j.attempts++
	a, ok := j.decode(op, j.into)
	j.into = a.found
	if !ok {
		return j.malformed("operation %d of client %d cannot be understood", op.Seq, op.Client)
	}
	if a.writes {
		j.writes += a.writeTo - a.writeFrom
	}
	if op.Kind != KindInsert || len(op.Values) == 0 {
		return nil
	}
	at := op.Values[0] - j.core.records
	if at < 0 || at > j.processes*(j.attempts+int64(len(j.clients))) {
		return j.malformed("operation %d of client %d cannot have inserted record %d", op.Seq, op.Client, op.Values[0])
	}
	for int64(len(j.inserted)) <= at {
		j.inserted = append(j.inserted, never)
	}
	if done := op.Last && op.Final == history.Committed; done || op.Outcome == history.Committed {
		j.inserted[at] = min(j.inserted[at], op.End)
	}
	return nil
}

// unrecorded reports whether an attempt without a record may have written a version.
func (j *judge) unrecorded(v version) bool {
	client, seq, attempt := v.split()
	c := j.clients[client]
	return c != nil && c.Unrecorded(seq, attempt, j.whole, true)
}

// initial is a unit's version before the run.
func (j *judge) initial(unit int64) version {
	number := unit / j.units()
	switch {
	case j.existing:
		return others
	case !j.loaded(number):
		return absent
	case j.fixed:
		return fixed
	}
	return loadedVersion(number)
}

// summarize completes verdicts and details.
func (j *judge) summarize() {
	f := &j.figures
	f.NotRead = j.missing
	j.kept.Detail = check.Counted(f.Records, "record was", "records were") + " read back, after " +
		check.Counted(f.Acknowledged, "acknowledged write", "acknowledged writes")
	if f.Records > 0 && j.missing == "" {
		j.kept.Detail += ": " + check.CountOrNone(f.Lost) + " lost"
		if wrong := j.kept.Found - f.Lost; wrong > 0 {
			j.kept.Detail += ", " + check.Counted(wrong, "record", "records") + " that should not be there or not be so"
		}
	}
	j.kept.Finish(j.missing, f.Records == 0, "there are no records")

	j.reads.Detail = check.Counted(f.Compared, "answer", "answers") + " compared bit by bit"
	if f.Wrong > 0 {
		j.reads.Detail += ", " + check.Count(f.Wrong) + " of them with what nobody had written"
	} else {
		j.reads.Detail += ", each with what somebody had written"
	}
	if j.existing {
		j.reads.Detail += ", or what was there before"
	}
	j.reads.Finish("", f.Compared == 0, "nothing was returned")

	j.scanned.Detail = check.Counted(f.Scans, "scan", "scans") + ", " + check.CountOrNone(j.scanned.Found) + " wrong"
	if f.Incomplete > 0 {
		j.scanned.Detail += "; " + check.Counted(f.Incomplete, "scan", "scans") + " left out a record that was there before"
	}
	j.scanned.Finish("", f.Scans == 0, "no scan was answered")

	j.linearizable.Detail = j.order()
	j.linearizable.Finish("", f.Compared == 0, "nothing was returned")

	j.inSessions.Detail = "promised: " + strings.Join(j.guarantees(), ", ") + "; " + j.outOfOrder()
	j.inSessions.Finish("", f.Compared == 0, "nothing was returned")
}

// one and many are the nouns for units.
func (c *core) one() string {
	if c.units() > 1 {
		return "field"
	}
	return "record"
}

func (c *core) many() string { return c.one() + "s" }

func (j *judge) order() string {
	f := &j.figures
	text := fmt.Sprintf("%s and %s", check.Counted(f.Compared, "answer", "answers"), check.Counted(f.Acknowledged, "acknowledged write", "acknowledged writes"))
	switch {
	case f.Disordered == 0 && f.Missing == 0 && j.promised:
		return text + ": the history of every " + j.one() + " is linearizable"
	case f.Disordered == 0 && f.Missing == 0:
		return text + ": the history of every " + j.one() + " is linearizable, which the database does not promise; " + j.outOfOrder()
	}
	text += ": the history of " + check.Counted(f.Disordered, j.one()+" is", j.many()+" is") + " not linearizable"
	if f.Missing > 0 {
		text += ", " + check.Counted(f.Missing, "read", "reads") + " did not find what was loaded"
	}
	if !j.promised {
		text += "; " + j.outOfOrder()
	}
	return text
}

func (j *judge) outOfOrder() string {
	f := &j.figures
	text := fmt.Sprintf("%s older than what the same client had read before, %s than what it had written, %s than what comes before something that it had seen",
		check.Counted(f.Monotonic, "read was", "reads were"), check.CountOrNone(f.OwnWrites), check.CountOrNone(f.Causes))
	if j.forgot {
		text += "; what sessions had seen of others was too much to keep, and later reads were compared with their own session's alone"
	}
	return text
}
