package wire

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Outcome is what became of a transaction, by what the server answered.
type Outcome string

const (
	// Committed is what the server has committed, and RolledBack what the application took back.
	Committed  Outcome = "committed"
	RolledBack Outcome = "rolled back"
	// Refused ended by an error of the server's, and Abandoned with its connection, before COMMIT
	// was sent. Unknown is a transaction whose COMMIT the server did not answer, or not so that its
	// effect is known.
	Refused   Outcome = "refused"
	Abandoned Outcome = "abandoned"
	Unknown   Outcome = "unknown"
)

// Transaction is one of the application's; a statement outside of BEGIN and COMMIT is one.
type Transaction struct {
	Connection int          `json:"connection"`
	Place      string       `json:"place"`
	Statements []*Statement `json:"statements"`
	Outcome    Outcome      `json:"outcome"`
	// Told is false if the answer to its end did not reach the application.
	Told  bool          `json:"told"`
	Began time.Duration `json:"began"`
	Ended time.Duration `json:"ended"`
	// Idle is the time within it in which the server waited for the application.
	Idle time.Duration `json:"idle"`
	// Alone is true of a statement outside of BEGIN and COMMIT.
	Alone bool `json:"alone,omitempty"`
	// Settings are those that its connection asked for at login, in place of the server's.
	Settings map[string]string `json:"-"`

	// session is not empty where it can go over several connections, and answered is when the
	// server last answered in it.
	session  string
	answered time.Duration
}

// Writes reports whether it changed rows.
func (t *Transaction) Writes() bool {
	for _, s := range t.Statements {
		if s.Writes && s.Rows > 0 {
			return true
		}
	}
	return false
}

// Changed reports whether it committed a change of rows.
func (t *Transaction) Changed() bool { return t.Outcome == Committed && t.Writes() }

// left is what became of it if nothing has ended it.
func (t *Transaction) left() Outcome {
	if slices.ContainsFunc(t.Statements, func(s *Statement) bool { return s.Kind == Commit && s.Doubtful }) {
		return Unknown
	}
	return Abandoned
}

// Shapes are what its statements look like.
func (t *Transaction) Shapes() (all []string) {
	for _, s := range t.Statements {
		if s.Kind == Other {
			all = append(all, s.Shape)
		}
	}
	return all
}

// Values are the values of the statements that changed rows, as one text.
func (t *Transaction) Values() string {
	var b strings.Builder
	for _, s := range t.Statements {
		if s.Writes {
			b.WriteString(s.Exactly())
		}
	}
	return b.String()
}

// Partial reports whether assay has not seen all of the values of the statements that changed rows.
func (t *Transaction) Partial() bool {
	return slices.ContainsFunc(t.Statements, func(s *Statement) bool { return s.Writes && s.Partial })
}

// Place is where the application sends something, told by the statements' shapes.
type Place struct {
	Name   string   `json:"name"`
	Kind   Kind     `json:"-"`
	Shapes []string `json:"statements"`
	// Times is how often the application came there.
	Times int `json:"times"`
	// Commits is true if a change of rows is committed there, and Within if a transaction was
	// open there.
	Commits bool `json:"commits"`
	Within  bool `json:"within"`
	// Parted is true if a part of it has reached the server before its end was there: nothing can be
	// given in its place.
	Parted bool `json:"-"`
}

// maxKept bounds the transactions that are kept, the places, the sessions and what is parked, and maxShapes
// the bytes of all places' shapes.
const (
	maxKept   = 100_000
	maxShapes = 64 << 20
)

// Recorder takes down what passes. It is safe for concurrent use.
type Recorder struct {
	start    time.Time
	activity atomic.Int64 // the last byte's time, since start
	longest  atomic.Int64 // the longest silence between two bytes
	answers  atomic.Bool  // whether the rows of answers are kept
	excuses  atomic.Int64 // how many reasons there are for a silence that is not the application's
	standby  atomic.Int64 // until when, since start, new connections lead to a server that takes no writes

	sink         Sink
	mu           sync.Mutex
	transactions []*Transaction
	left         int // transactions beyond maxKept
	places       map[string]*Place
	order        []string
	connections  int
	problem      error
	parked       map[string]*Transaction // by their sessions
	once         map[string]int64        // the highest number of each session that the server has done
	shapes       int                     // the bytes of places' shapes
	// most and mostShapes are maxKept and maxShapes.
	most, mostShapes int
}

// Sink takes transactions in place of a recorder's memory. Many goroutines call it. Ended has one that may
// still be changed. Settled has it, for good, once it is known whether the application was told of its end.
// Failed has the first failure of assay's own, when it happens.
type Sink interface {
	Ended(*Transaction)
	Settled(*Transaction)
	Failed(error)
}

// NewRecorder begins a recording.
func NewRecorder() *Recorder {
	return &Recorder{start: time.Now(), places: map[string]*Place{}, parked: map[string]*Transaction{}, once: map[string]int64{}, most: maxKept, mostShapes: maxShapes}
}

// Now is the time since the recording began.
func (r *Recorder) Now() time.Duration { return time.Since(r.start) }

// touch says that something passed.
func (r *Recorder) touch() {
	now := r.Now()
	if silence := int64(now) - r.activity.Swap(int64(now)); silence > r.longest.Load() {
		r.longest.Store(silence)
	}
}

// Excuse has no silence count until Count is called as often: what is done to the server can keep it
// from answering.
func (r *Recorder) Excuse() { r.excuses.Add(1) }

// Count ends an Excuse. Silence counts from then on.
func (r *Recorder) Count() {
	r.activity.Store(int64(r.Now()))
	r.excuses.Add(-1)
}

// Silence is how long nothing has passed that was not excused, and Longest how long that ever was.
func (r *Recorder) Silence() time.Duration {
	if r.Excused() {
		return 0
	}
	return r.Now() - time.Duration(r.activity.Load())
}
func (r *Recorder) Longest() time.Duration { return time.Duration(r.longest.Load()) }

// Excused reports whether there is an Excuse.
func (r *Recorder) Excused() bool { return r.excuses.Load() > 0 }

// failOver has connections lead to a standby for some time.
func (r *Recorder) failOver(lasts time.Duration) { r.standby.Store(int64(r.Now() + lasts)) }
func (r *Recorder) failedOver() bool             { return int64(r.Now()) < r.standby.Load() }

// Connections is how many were opened.
func (r *Recorder) Connections() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.connections
}

// Transactions are those that have ended, in the order of their ends; left is how many more
// there were than are kept.
func (r *Recorder) Transactions() (all []*Transaction, left int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.transactions[:len(r.transactions):len(r.transactions)], r.left
}

// Places are where the application sent something, in the order in which it came to them.
func (r *Recorder) Places() (all []*Place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range r.order {
		place := *r.places[name] // which goes on
		all = append(all, &place)
	}
	return all
}

// Problem is the first failure of assay's own; what was recorded proves nothing then.
func (r *Recorder) Problem() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.problem
}

// Fail enters a failure of assay's own.
func (r *Recorder) Fail(err error) {
	r.mu.Lock()
	first := r.problem == nil
	if first {
		r.problem = err
	}
	r.mu.Unlock()
	if first && r.sink != nil {
		r.sink.Failed(err)
	}
}

func (r *Recorder) opened() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.connections++
	return r.connections
}

// came counts a place.
func (r *Recorder) came(name string, kind Kind, within, parted bool, shapes func() []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.places[name]
	if p == nil {
		if len(r.places) == r.most || r.shapes > r.mostShapes {
			return
		}
		p = &Place{Name: name, Kind: kind, Shapes: shapes(), Within: within}
		for _, s := range p.Shapes {
			r.shapes += len(s)
		}
		r.places[name] = p
		r.order = append(r.order, name)
	}
	p.Times++
	p.Parted = p.Parted || parted
}

// park keeps an open transaction that is of no connection, and adopt gives it to one. Of too many, the one ends
// of which nothing was heard for longest.
func (r *Recorder) park(t *Transaction) {
	r.mu.Lock()
	var oldest *Transaction
	if r.parked[t.session] = t; len(r.parked) > r.most {
		oldest = slices.MinFunc(slices.Collect(maps.Values(r.parked)), func(a, b *Transaction) int { return cmp.Compare(a.answered, b.answered) })
		delete(r.parked, oldest.session)
	}
	r.mu.Unlock()
	if oldest != nil {
		r.abandon(oldest)
	}
}

// abandon ends a transaction that nobody has ended.
func (r *Recorder) abandon(t *Transaction) {
	if t.Ended = r.Now(); t.Outcome == "" {
		t.Outcome = t.left()
	}
	r.ended(t)
}

func (r *Recorder) adopt(session string, connection int) *Transaction {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.parked[session]
	if delete(r.parked, session); t != nil {
		t.Connection = connection
	}
	return t
}

// leave ends what is left of open transactions once all connections have ended.
func (r *Recorder) leave() {
	r.mu.Lock()
	left := slices.Collect(maps.Values(r.parked))
	clear(r.parked)
	r.mu.Unlock()
	for _, t := range left {
		r.abandon(t)
	}
}

// again reports whether the server has done that number of a session before.
func (r *Recorder) again(session string, number int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	highest, known := r.once[session]
	if known && number <= highest {
		return true
	}
	if r.once[session] = number; len(r.once) > r.most {
		for other := range r.once { // any but this one
			if other != session {
				delete(r.once, other)
				break
			}
		}
	}
	return false
}

// ended keeps a transaction, or hands it over. One whose end is about to be told is to be settled.
func (r *Recorder) ended(t *Transaction) {
	if r.keep(t); r.sink == nil {
		return
	}
	if r.sink.Ended(t); !t.Told {
		r.sink.Settled(t)
	}
}

// settle enters whether the answers to these ends reached the application.
func (r *Recorder) settle(all []*Transaction, told bool) {
	if r.sink != nil {
		for _, t := range all {
			t.Told = told
			r.sink.Settled(t)
		}
		return
	}
	if len(all) == 0 || told {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := slices.Clone(r.transactions) // somebody may read the others
	for i, t := range now {
		if slices.Contains(all, t) {
			one := *t
			one.Told, now[i] = false, &one
		}
	}
	r.transactions = now
}

func (r *Recorder) keep(t *Transaction) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.Changed() {
		if p := r.places[t.Place]; p != nil {
			p.Commits = true
		}
	}
	switch {
	case r.sink != nil:
	case len(r.transactions) == r.most:
		r.left++
	default:
		r.transactions = append(r.transactions, t)
	}
}
