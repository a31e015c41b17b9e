package wire

import (
	"strings"
	"testing"

	"assay/internal/expect"
)

// scriptedTalk has each answer leave the transaction as it is told.
type scriptedTalk struct {
	Talk
	state State
}

func (s *scriptedTalk) State() State { return s.state }

// script is a connection whose requests are answered one after the other.
type script struct {
	t *testing.T
	*link
	talk *scriptedTalk
}

func newScript(t *testing.T, recorder *Recorder) *script {
	talk := &scriptedTalk{}
	return &script{t, &link{recorder: recorder, number: 1, talk: talk, begins: true}, talk}
}

// sends has a text be answered by these words, one a statement: OK, OPEN or CLOSED, which say how the transaction stands
// behind it; ERROR, ROLLBACK, or nothing. COMMITTED and FAILED are done, or not, behind a commit of what was
// open, and DOUBTFUL fails and leaves open whether it was. state is how it stands behind all.
func (s *script) sends(text, answers string, state State) {
	s.t.Helper()
	r := &Request{Statements: EscapedStatements(text)}
	s.requested(r)
	for i, word := range strings.Fields(answers) {
		switch of := r.Statements[i]; word {
		case "ERROR":
			of.Error = "1062 it is there"
		case "FAILED":
			of.Error, of.Before = "1050 it is there", Committed
		case "DOUBTFUL":
			of.Error, of.Before = "1317 it was interrupted", Unknown
		case "COMMITTED":
			of.Tag, of.Closed, of.Before = word, true, Committed
		case "NONE":
		default:
			of.Tag, of.Closed = word, word == "CLOSED"
			if strings.HasPrefix(of.Shape, "INSERT") {
				of.Writes, of.Rows = true, 1
			}
		}
	}
	s.talk.state = state
	s.finish(r)
}

// outcomes are all transactions as "outcome: their statements".
func outcomes(r *Recorder) (all []string) {
	transactions, _ := r.Transactions()
	for _, t := range transactions {
		var shapes []string
		for _, s := range t.Statements {
			shapes = append(shapes, s.Shape)
		}
		all = append(all, string(t.Outcome)+": "+strings.Join(shapes, "; "))
	}
	return all
}

// TestTransactionsWithinATextEnd where the server ends them, and not where the text does.
func TestTransactionsWithinATextEnd(t *testing.T) {
	for name, c := range map[string]struct {
		texts [][2]string
		state []State
		want  string
	}{
		"one after the other": {[][2]string{{"INSERT a; INSERT b", "CLOSED ERROR"}}, []State{Idle}, "committed: INSERT a|refused: INSERT b"},
		"none is done behind an error": {[][2]string{{"INSERT a; INSERT b; INSERT c", "CLOSED ERROR NONE"}}, []State{Idle},
			"committed: INSERT a|refused: INSERT b; INSERT c"},
		"one text is one transaction": {[][2]string{{"INSERT a; INSERT b", "OK ERROR"}}, []State{Idle}, "refused: INSERT a; INSERT b"},
		"within a transaction":        {[][2]string{{"BEGIN; INSERT a; INSERT b; COMMIT", "OPEN OPEN OPEN CLOSED"}}, []State{Idle}, "committed: BEGIN; INSERT a; INSERT b; COMMIT"},
		"of a transaction that is open": {[][2]string{{"BEGIN", "OPEN"}, {"INSERT a; INSERT b", "OPEN ERROR"}, {"ROLLBACK", "CLOSED"}}, []State{Within, Within, Idle},
			"rolled back: BEGIN; INSERT a; INSERT b; ROLLBACK"},
		"chained": {[][2]string{{"BEGIN", "OK"}, {"INSERT a", "OK"}, {"COMMIT AND CHAIN", "OK"}, {"INSERT b", "OK"}, {"ROLLBACK", "OK"}}, []State{Within, Within, Within, Within, Idle},
			"committed: BEGIN; INSERT a; COMMIT AND CHAIN|rolled back: INSERT b; ROLLBACK"},
		"chained behind a rollback": {[][2]string{{"BEGIN; INSERT a", "OK OK"}, {"ROLLBACK AND CHAIN", "ROLLBACK"}, {"INSERT b; COMMIT", "OK OK"}}, []State{Within, Within, Idle},
			"rolled back: BEGIN; INSERT a; ROLLBACK AND CHAIN|committed: INSERT b; COMMIT"},
		"chained though it had failed": {[][2]string{{"BEGIN; INSERT a", "OK ERROR"}, {"COMMIT AND CHAIN", "ROLLBACK"}, {"COMMIT", "OK"}}, []State{Failed, Within, Idle},
			"rolled back: BEGIN; INSERT a; COMMIT AND CHAIN|committed: COMMIT"},
		"begun behind a commit": {[][2]string{{"BEGIN; INSERT a", "OK OK"}, {"COMMIT; BEGIN", "OK OK"}, {"INSERT b; ROLLBACK", "OK OK"}}, []State{Within, Within, Idle},
			"committed: BEGIN; INSERT a; COMMIT|rolled back: BEGIN; INSERT b; ROLLBACK"},
		"a failed commit ends nothing": {[][2]string{{"BEGIN; INSERT a", "OK OK"}, {"COMMIT", "ERROR"}, {"ROLLBACK", "OK"}}, []State{Within, Within, Idle},
			"rolled back: BEGIN; INSERT a; COMMIT; ROLLBACK"},
		"a beginning commits": {[][2]string{{"BEGIN; INSERT a", "OPEN OPEN"}, {"BEGIN; INSERT b", "OPEN OPEN"}, {"ROLLBACK", "CLOSED"}}, []State{Within, Within, Idle},
			"committed: BEGIN; INSERT a|rolled back: BEGIN; INSERT b; ROLLBACK"},
		"a table commits": {[][2]string{{"BEGIN; INSERT a", "OPEN OPEN"}, {"CREATE b", "COMMITTED"}, {"ROLLBACK", "CLOSED"}}, []State{Within, Idle, Idle},
			"committed: BEGIN; INSERT a|committed: CREATE b|rolled back: ROLLBACK"},
		"a table that is there commits": {[][2]string{{"BEGIN; INSERT a", "OPEN OPEN"}, {"CREATE b", "FAILED"}, {"INSERT c", "CLOSED"}}, []State{Within, Idle, Idle},
			"committed: BEGIN; INSERT a|refused: CREATE b|committed: INSERT c"},
		"within one text":        {[][2]string{{"BEGIN; INSERT a; CREATE b; INSERT c", "OPEN OPEN FAILED NONE"}}, []State{Idle}, "committed: BEGIN; INSERT a|refused: CREATE b; INSERT c"},
		"nobody knows":           {[][2]string{{"BEGIN; INSERT a", "OPEN OPEN"}, {"CREATE b", "DOUBTFUL"}}, []State{Within, Idle}, "unknown: BEGIN; INSERT a|refused: CREATE b"},
		"nobody knows of a text": {[][2]string{{"BEGIN; INSERT a; CREATE b", "OPEN OPEN DOUBTFUL"}}, []State{Idle}, "unknown: BEGIN; INSERT a|refused: CREATE b"},
		"there was nothing open": {[][2]string{{"CREATE b", "FAILED"}, {"CREATE c", "COMMITTED"}}, []State{Idle, Idle}, "refused: CREATE b|committed: CREATE c"},
		"what is refused at once does not": {[][2]string{{"BEGIN; INSERT a", "OPEN OPEN"}, {"CREATE b", "ERROR"}, {"ROLLBACK", "CLOSED"}}, []State{Within, Within, Idle},
			"rolled back: BEGIN; INSERT a; CREATE b; ROLLBACK"},
	} {
		s := newScript(t, NewRecorder())
		for i, text := range c.texts {
			s.sends(text[0], text[1], c.state[i])
		}
		if got := strings.Join(outcomes(s.recorder), "|"); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestIdle is the time in which the server waits for the application within a transaction.
func TestIdle(t *testing.T) {
	s := newScript(t, NewRecorder())
	s.sends("BEGIN", "OPEN", Within)
	answered := s.tx.answered
	s.sends("INSERT a", "OPEN", Within)
	idle := s.tx.Idle
	s.sends("COMMIT", "CLOSED", Idle)
	s.sends("INSERT b", "CLOSED", Idle)
	all, _ := s.recorder.Transactions()
	if len(all) != 2 || answered == 0 || idle <= 0 || all[0].Idle <= idle || all[0].Idle > all[0].Ended-answered || all[1].Idle != 0 {
		t.Errorf("behind BEGIN it is %v, and then %+v", idle, all)
	}
}

// TestImplicitCommitWithoutAnAnswer leaves open what became of the transaction before it.
func TestImplicitCommitWithoutAnAnswer(t *testing.T) {
	for implicit, want := range map[bool]string{true: "unknown: BEGIN; INSERT a; CREATE b", false: "abandoned: BEGIN; INSERT a; CREATE b"} {
		s := newScript(t, NewRecorder())
		s.sends("BEGIN; INSERT a", "OPEN OPEN", Within)
		r := &Request{Statements: EscapedStatements("CREATE b")}
		r.Statements[0].Implicit = implicit
		s.requested(r)
		s.over()
		expect.Text(t, "what is recorded", strings.Join(outcomes(s.recorder), "|"), want)
	}
}

// TestPreparedTransactions are open until they are decided, over whatever connection.
func TestPreparedTransactions(t *testing.T) {
	const prepare, done = "BEGIN; INSERT a; PREPARE TRANSACTION 'x'", "BEGIN; INSERT a; PREPARE TRANSACTION ?"
	for name, c := range map[string]struct {
		prepare, prepared string
		decisions         [][2]string // each over a connection of its own
		want              string
		told              bool
	}{
		"nobody decides":          {prepare, "OK OK OK", nil, "unknown: " + done, false},
		"it could not":            {prepare, "OK ERROR ROLLBACK", nil, "refused: " + done, true},
		"it had failed before":    {"PREPARE TRANSACTION 'x'", "ROLLBACK", nil, "rolled back: PREPARE TRANSACTION ?", true},
		"committed":               {prepare, "OK OK OK", [][2]string{{"COMMIT PREPARED 'x'", "OK"}}, "committed: " + done + "; COMMIT PREPARED ?", true},
		"rolled back":             {prepare, "OK OK OK", [][2]string{{"ROLLBACK PREPARED 'x'", "OK"}}, "rolled back: " + done + "; ROLLBACK PREPARED ?", true},
		"another is decided":      {prepare, "OK OK OK", [][2]string{{"ROLLBACK PREPARED 'y'", "OK"}}, "rolled back: ROLLBACK PREPARED ?|unknown: " + done, false},
		"the decision failed":     {prepare, "OK OK OK", [][2]string{{"COMMIT PREPARED 'x'", "ERROR"}}, "unknown: " + done + "; COMMIT PREPARED ?", false},
		"the second one succeeds": {prepare, "OK OK OK", [][2]string{{"COMMIT PREPARED 'x'", "ERROR"}, {"COMMIT PREPARED 'x'", "OK"}}, "committed: " + done + "; COMMIT PREPARED ?; COMMIT PREPARED ?", true},
		"of MySQL": {"XA START 'x'; INSERT a; XA END 'x'; XA PREPARE 'x'", "OK OK OK OK", [][2]string{{"XA COMMIT 'x'", "OK"}},
			"committed: XA START ?; INSERT a; XA END ?; XA PREPARE ?; XA COMMIT ?", true},
		"of MySQL, in one phase": {"XA START 'x'; INSERT a; XA END 'x'; XA COMMIT 'x' ONE PHASE", "OK OK OK OK", nil,
			"committed: XA START ?; INSERT a; XA END ?; XA COMMIT ? ONE PHASE", true},
	} {
		recorder := NewRecorder()
		newScript(t, recorder).sends(c.prepare, c.prepared, Idle)
		for _, d := range c.decisions {
			newScript(t, recorder).sends(d[0], d[1], Idle)
		}
		recorder.leave()
		all, _ := recorder.Transactions()
		if got := strings.Join(outcomes(recorder), "|"); got != c.want || all[len(all)-1].Told != c.told {
			t.Errorf("%s: %s, told %v; want %s", name, got, all[len(all)-1].Told, c.want)
		}
	}
}

// TestPreparationWithoutAnAnswer leaves open what became of it, as does a decision.
func TestPreparationWithoutAnAnswer(t *testing.T) {
	recorder := NewRecorder()
	one := newScript(t, recorder)
	one.sends("BEGIN; INSERT a", "OK OK", Within)
	one.requested(&Request{Statements: Statements("PREPARE TRANSACTION 'x'")})
	one.over()
	two := newScript(t, recorder)
	two.requested(&Request{Statements: Statements("COMMIT PREPARED 'x'")})
	two.over()
	recorder.leave()
	want := "unknown: BEGIN; INSERT a; PREPARE TRANSACTION ?; COMMIT PREPARED ?"
	expect.Text(t, "what is recorded", strings.Join(outcomes(recorder), "|"), want)
}
