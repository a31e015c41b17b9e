package replay

import (
	"context"
	"errors"
	"io"

	"assay/history"
	"assay/load"
	"assay/store"
	"assay/workload/replay/recording"
	"assay/workload/replay/statement"
)

// The kinds of operations, as in history.Op.Kind.
const (
	KindConnect uint8 = iota + 1
	KindRead
	KindWrite
	KindTransaction
	KindOther
)

// What the Values of a statement's attempt are: the number of the statement without its values,
// the recorded duration in nanoseconds (-1 if it is not known), whether it had failed in the
// recording, how many rows it gave or changed, how many it had in the recording (-1).
const values = 5

// ClassSkipped is of a statement that was not sent, since its session was lost within its
// transaction: sent by another, it would be a transaction of its own.
const ClassSkipped = "session lost within the transaction"

// lane replays sessions one after the other: it is one client of the run.
type lane struct {
	work     *Work
	number   int
	sessions []session
	file     io.ReaderAt

	part *part // the session that is read; nil before its first operation
	// ahead are the records of the transaction that is under way, which are read ahead, bounded,
	// since the order of transactions needs its end.
	ahead []step
	begun bool // the transaction may begin
	// lost is true from the loss of a session within a transaction to that transaction's end.
	lost, inside bool

	session store.Session
	says    store.Dialogue // of the session
	values  [values]int64
	now     step
	connect bool // the operation is the connection
	err     error
}

var (
	_ load.Client    = (*lane)(nil)
	_ load.Scheduled = (*lane)(nil)
)

// step is a statement that was read ahead, and what is known of it: looking at it takes no time
// of the operation that sends it.
type step struct {
	recording.Record
	effect statement.Effect
	kind   int // its number without its values
}

// A transaction is read ahead up to so many statements and bytes of text. The end of a longer
// one is taken to be that of what was read.
const (
	maxAhead      = 1000
	maxAheadBytes = 1 << 20
)

// Due implements load.Scheduled.
func (l *lane) Due(ctx context.Context, _ uint64) (at int64, ok bool) {
	if l.err == nil {
		l.err = l.advance()
	}
	if l.err != nil {
		return load.AtOnce, true // Attempt ends the run with it
	}
	if l.part == nil {
		if l.work.order != nil {
			l.work.order.over(l.number)
		}
		return 0, false
	}
	if l.work.order == nil {
		return int64(l.now.At * 1e6 / l.work.speed), true
	}
	if !l.begun {
		if !l.work.order.wait(ctx, l.number, l.now.At) {
			return 0, false
		}
		l.begun = true
	}
	return load.AtOnce, true
}

// advance goes to the next operation. part is nil behind the last one.
func (l *lane) advance() error {
	l.connect = false
	if l.part == nil || len(l.ahead) == 0 && !l.part.more {
		l.end()
		if len(l.sessions) == 0 {
			l.part = nil
			return nil
		}
		of := l.sessions[0]
		l.sessions = l.sessions[1:]
		p, err := openPart(l.work.config.File, l.file, of)
		if err != nil {
			return err
		}
		l.part, l.connect = p, true
		l.now = step{Record: recording.Record{Session: of.number, At: of.begin}}
		l.announce(of.begin)
		if l.part.more && l.part.next.Text == "" {
			return l.part.advance()
		}
		return nil
	}
	if len(l.ahead) == 0 {
		if err := l.readAhead(); err != nil {
			return err
		}
		if len(l.ahead) == 0 { // only the session's end was left
			return l.advance()
		}
		last := &l.ahead[len(l.ahead)-1]
		l.announce(last.At + took(&last.Record))
	}
	l.now, l.ahead = l.ahead[0], l.ahead[1:]
	return nil
}

// announce says what comes next to the order of transactions.
func (l *lane) announce(end float64) {
	l.begun = false
	if l.work.order != nil {
		l.work.order.next(l.number, end)
	}
}

// readAhead reads a statement that is a transaction of its own, or a transaction.
func (l *lane) readAhead() error {
	l.ahead = l.ahead[:0:0]
	bytes, inside := 0, l.inside
	for l.part.more && len(l.ahead) < maxAhead && bytes < maxAheadBytes {
		r := l.part.next
		if err := l.part.advance(); err != nil {
			return err
		}
		if r.Text == "" {
			continue
		}
		x := l.work.index
		next := step{Record: r, effect: statement.EffectOf(r.Text, x.dialect()), kind: x.number(r.Text)}
		l.ahead = append(l.ahead, next)
		bytes += len(r.Text)
		switch next.effect {
		case statement.Begins:
			inside = true
		case statement.Commits, statement.RollsBack:
			inside = false
		}
		if !inside {
			break
		}
	}
	return nil
}

// end leaves the session.
func (l *lane) end() {
	if l.session != nil {
		l.session.Close()
		l.session = nil
	}
	l.lost, l.inside, l.ahead = false, false, nil
}

func (l *lane) Close() { l.end() }

// Attempt implements load.Client.
func (l *lane) Attempt(ctx context.Context, _ uint64, _ int) load.Answer {
	switch {
	case l.err != nil && !errors.Is(l.err, io.EOF):
		return load.Answer{Outcome: history.Failed, Class: store.ClassOther, Err: l.err}
	case l.connect:
		return l.connection(ctx)
	}
	answer, rows := l.statement(ctx, l.now.effect)
	answer.Kind = kindOf(l.now.effect)
	l.values = [values]int64{int64(l.now.kind), -1, 0, rows, -1}
	if l.now.Took != nil {
		l.values[1] = int64(*l.now.Took * 1e6)
	}
	if l.now.Rows != nil {
		l.values[4] = *l.now.Rows
	}
	if l.now.Error != "" {
		if l.values[2] = 1; answer.Outcome == history.Failed && answer.Class != ClassSkipped && !answer.Disconnected {
			answer.Outcome = history.Rejected // as it was
		}
	}
	answer.Values = l.values[:]
	return answer
}

// number is that of a statement without its values.
func (x *index) number(text string) int { return x.numbers[statement.Fingerprint(text, x.dialect())] }

func kindOf(e statement.Effect) uint8 {
	switch e {
	case statement.Reads:
		return KindRead
	case statement.Writes:
		return KindWrite
	case statement.Begins, statement.Commits, statement.RollsBack:
		return KindTransaction
	}
	return KindOther
}

// connection makes the session's connection.
func (l *lane) connection(ctx context.Context) load.Answer {
	if err := l.open(ctx); err != nil {
		unsent := store.Unsent(err)
		return unsent.Answer(KindConnect)
	}
	return load.Answer{Kind: KindConnect, Outcome: history.Committed}
}

func (l *lane) open(ctx context.Context) error {
	session, err := l.work.Session(ctx, nil)
	if err != nil {
		return err
	}
	says, is := session.(store.Dialogue)
	if !is {
		session.Close()
		return errNoDialogue
	}
	l.session, l.says = session, says
	return nil
}

var errNoDialogue = errors.New("sessions of this database do not send statements one by one as they are")

// statement sends one.
func (l *lane) statement(ctx context.Context, effect statement.Effect) (load.Answer, int64) {
	ends := effect == statement.Commits || effect == statement.RollsBack
	defer func() {
		if ends {
			l.lost, l.inside = false, false
		}
	}()
	if effect == statement.Begins {
		l.inside, l.lost = true, false
	}
	if l.lost {
		return load.Answer{Outcome: history.Failed, Class: ClassSkipped}, -1
	}
	if l.session == nil {
		if err := l.open(ctx); err != nil {
			l.lost = l.inside
			unsent := store.Unsent(err)
			return unsent.Answer(0), -1
		}
	}
	results, reply := l.says.Say(ctx, l.text(effect))
	answer := reply.Answer(0)
	rows := int64(-1)
	if len(results) > 0 {
		rows = results[len(results)-1].Rows
	}
	if reply.Outcome != history.Committed && l.now.Error == "" {
		l.work.found.add(l.now.kind, &l.now.Record, reply)
	}
	if reply.Broken || reply.Outcome == history.Unknown {
		l.session.Close()
		l.session = nil
		l.lost = l.inside
	}
	return answer, rows
}

// text is the statement as it is sent.
func (l *lane) text(effect statement.Effect) store.UserText {
	t := store.UserText{Text: l.now.Text, Parameters: l.now.Parameters, Protocol: store.Simple, Kind: textKind(effect)}
	switch {
	case l.now.Parameters == nil:
	case l.now.Prepared != "":
		t.Protocol = store.Prepared
	default:
		t.Protocol = store.Extended
	}
	return t
}

func textKind(e statement.Effect) store.TextKind {
	switch e {
	case statement.Reads:
		return store.NoEffect
	case statement.Writes:
		return store.Writes
	case statement.Begins:
		return store.Begins
	case statement.Commits:
		return store.Commits
	case statement.RollsBack:
		return store.RollsBack
	}
	return store.Anything
}
