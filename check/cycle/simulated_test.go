package cycle_test

import (
	"math/rand/v2"
	"slices"

	. "assay/check/cycle"
	"assay/history"
)

// isolationLevel is the promise that the simulated database keeps, or breaks in a known way. Its
// clients run random transactions in memory. Everything follows from a seed.
type isolationLevel uint8

const (
	// simulateStrict is strict serializable: snapshot isolation in which a transaction cannot
	// commit if a concurrent one wrote what it read, or the reverse.
	simulateStrict isolationLevel = iota
	// simulateSnapshot: a transaction sees the state at its beginning. It commits only if no other
	// has since written what it writes.
	simulateSnapshot
	// simulatePrefix is simulateSnapshot without that condition, so it loses updates.
	simulatePrefix
	// simulateSnapshotReads: a transaction sees the state at its beginning, but the newest state of
	// keys that it writes, which it locks.
	simulateSnapshotReads
	// simulateNothing: operations take effect at once, but a transaction reads its own writes.
	simulateNothing
)

// simulation describes a run. Zero values mean those in brackets.
type simulation struct {
	Level   isolationLevel
	Seed    uint64
	Txns    int // how many are begun
	Clients int // [3]
	Keys    int // in use at a time [10]; the last is used most, each half as often as the next
	Writes  int // of a key, after which a new one takes its place [32]
	MaxOps  int // of a transaction [4]
	// Registers turns appends into writes, and each read shows only the last.
	Registers bool
	// Crash is the share of transactions whose end the client never learns; half of them commit.
	Crash float64
}

func (c simulation) filled() simulation {
	fill := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	fill(&c.Clients, 3)
	fill(&c.Keys, 10)
	fill(&c.Writes, 32)
	fill(&c.MaxOps, 4)
	return c
}

// simulate calls visit with each transaction as it ends; it is valid only during the call. An error
// of visit ends the run and is returned.
func simulate(c simulation, visit func(Txn) error) error {
	c = c.filled()
	d := simulatedDatabase{
		c: c, r: rand.New(rand.NewPCG(c.Seed, uint64(c.Level))),
		state: map[int64]value{}, written: map[int64]int64{}, locked: map[int64]*simulatedClient{},
	}
	for k := range c.Keys {
		d.active = append(d.active, int64(k))
	}
	d.nextKey = int64(c.Keys)
	d.clients = make([]simulatedClient, c.Clients)
	clients, begun := d.clients, 0
	for now := int64(0); ; {
		busy := 0
		for i := range clients {
			cl := &clients[i]
			if !cl.busy && begun < c.Txns {
				begun++
				d.begin(cl, now)
				now++
			}
			if cl.busy {
				busy++
			}
		}
		if busy == 0 {
			return nil
		}
		i := d.r.IntN(len(clients))
		for !clients[i].busy {
			i = (i + 1) % len(clients)
		}
		cl := &clients[i]
		if d.step(cl) {
			continue
		}
		txn := Txn{
			ID: now, Process: int32(i), Invoke: cl.invoke, Complete: now,
			Outcome: d.commit(cl), Ops: cl.ops,
		}
		now++
		cl.busy = false
		if err := visit(txn); err != nil {
			return err
		}
	}
}

func simulatedHistory(c simulation) (*History, error) {
	var b Builder
	if err := simulate(c, b.Add); err != nil {
		return nil, err
	}
	return b.History(), nil
}

// value is the state of a key: a list, and when it was committed.
type value struct {
	list []int64
	at   int64
}

type simulatedClient struct {
	busy    bool
	started bool
	invoke  int64
	ops     []Op
	next    int
	begin   int64
	snap    map[int64]value // what it read and wrote so far
	wrote   map[int64]bool
	refused bool // somebody else has locked what it writes
}

type simulatedDatabase struct {
	c       simulation
	r       *rand.Rand
	state   map[int64]value
	past    []change // what was committed, for snapshots of running transactions
	keep    int      // how long past may get before it is looked through
	now     int64
	active  []int64
	nextKey int64
	written map[int64]int64
	locked  map[int64]*simulatedClient
	clients []simulatedClient
}

type change struct {
	at  int64
	key int64
	old value
}

func (d *simulatedDatabase) begin(cl *simulatedClient, now int64) {
	*cl = simulatedClient{busy: true, invoke: now, ops: cl.ops[:0], snap: map[int64]value{}, wrote: map[int64]bool{}}
	for n := 1 + d.r.IntN(d.c.MaxOps); len(cl.ops) < n; {
		slot := d.slot()
		key := d.active[slot]
		if d.r.IntN(2) == 0 {
			cl.ops = append(cl.ops, Op{Kind: ReadNothing, Key: key})
			continue
		}
		d.written[key]++
		kind := Append
		if d.c.Registers {
			kind = Write
		}
		cl.ops = append(cl.ops, Op{Kind: kind, Key: key, Value: d.written[key]})
		if d.written[key] == int64(d.c.Writes) {
			delete(d.written, key)
			d.active[slot] = d.nextKey
			d.nextKey++
		}
	}
}

// slot draws a place among the active keys: the last one half of the time.
func (d *simulatedDatabase) slot() int {
	for i := len(d.active) - 1; i > 0; i-- {
		if d.r.IntN(2) == 0 {
			return i
		}
	}
	return 0
}

// step does the next operation of a transaction; false means that it must commit.
func (d *simulatedDatabase) step(cl *simulatedClient) bool {
	if !cl.started {
		cl.started, cl.begin = true, d.now
		return true
	}
	if cl.next == len(cl.ops) {
		return false
	}
	op := &cl.ops[cl.next]
	cl.next++
	v := d.read(cl, op.Key)
	if d.c.Level == simulateSnapshotReads && (op.Kind == Append || op.Kind == Write) && !cl.wrote[op.Key] {
		if cl.refused = d.locked[op.Key] != nil; cl.refused {
			return false
		}
		d.locked[op.Key], v = cl, d.state[op.Key]
	}
	if op.Kind == Append || op.Kind == Write {
		v.list = append(v.list[:len(v.list):len(v.list)], op.Value)
		cl.wrote[op.Key] = true
		if d.c.Level == simulateNothing {
			d.state[op.Key] = v
		}
		cl.snap[op.Key] = v
		return true
	}
	switch {
	case len(v.list) == 0:
	case d.c.Registers:
		op.Kind, op.Value = ReadValue, v.list[len(v.list)-1]
	default:
		op.Kind, op.List = ReadList, v.list
	}
	return true
}

func (d *simulatedDatabase) read(cl *simulatedClient, key int64) value {
	if d.c.Level == simulateNothing && !(d.c.Registers && cl.wrote[key]) {
		return d.state[key]
	}
	if v, seen := cl.snap[key]; seen {
		return v
	}
	v := d.state[key]
	for i := len(d.past) - 1; i >= 0 && d.past[i].at > cl.begin; i-- {
		if d.past[i].key == key {
			v = d.past[i].old
		}
	}
	cl.snap[key] = v
	return v
}

// commit ends a transaction and returns the outcome that its client learns.
func (d *simulatedDatabase) commit(cl *simulatedClient) history.Outcome {
	for key, by := range d.locked {
		if by == cl {
			delete(d.locked, key)
		}
	}
	if cl.refused {
		return history.Failed
	}
	lost := d.c.Crash > 0 && d.r.Float64() < d.c.Crash
	if lost && d.r.IntN(2) == 0 {
		return history.Unknown
	}
	if d.c.Level != simulateNothing && !d.apply(cl) {
		return history.Failed
	}
	if lost {
		return history.Unknown
	}
	return history.Committed
}

// apply makes the writes of a transaction visible, or returns false if it must not commit.
func (d *simulatedDatabase) apply(cl *simulatedClient) bool {
	for key := range cl.snap {
		stale := d.state[key].at > cl.begin
		if stale && (d.c.Level == simulateStrict || d.c.Level == simulateSnapshot && cl.wrote[key]) {
			return false
		}
	}
	d.now++
	for _, op := range cl.ops {
		if !cl.wrote[op.Key] {
			continue
		}
		delete(cl.wrote, op.Key)
		d.past = append(d.past, change{d.now, op.Key, d.state[op.Key]})
		d.state[op.Key] = value{cl.snap[op.Key].list, d.now}
	}
	if len(d.past) >= d.keep {
		d.forget()
	}
	return true
}

// forget drops states that no running transaction can see.
func (d *simulatedDatabase) forget() {
	oldest := d.now
	for i := range d.clients {
		if cl := &d.clients[i]; cl.busy && cl.started {
			oldest = min(oldest, cl.begin)
		}
	}
	d.past = slices.DeleteFunc(d.past, func(c change) bool { return c.at <= oldest })
	d.keep = 2*len(d.past) + 4096
}
