package wire

import (
	"net"
	"testing"
	"time"

	"assay/internal/expect"
)

// answeredTalk has whatever comes end an answer.
type answeredTalk struct{ Talk }

func (answeredTalk) Answer(b []byte, _ *Request) (int, bool) { return len(b), true }
func (answeredTalk) State() State                            { return Idle }

// TestUntold has the application's side end when the server has just answered: what was committed was
// not told.
func TestUntold(t *testing.T) {
	for gone, told := range map[bool]bool{false: true, true: false} {
		reads, app := net.Pipe()
		behind, server := net.Pipe()
		go func() {
			if gone {
				reads.Close()
			}
			_, _ = behind.Write([]byte{1}) // the reader may end first
			if !gone {
				_, _ = reads.Read(make([]byte, 1))
			}
			behind.Close()
		}()
		l := &link{recorder: NewRecorder(), app: &App{Conn: app}, server: server, talk: answeredTalk{}, gone: make(chan struct{})}
		l.requested(&Request{Statements: []*Statement{{Shape: "UPDATE t SET n = n + ?"}}})
		l.fromServer(t.Context())
		all, _ := l.recorder.Transactions()
		if len(all) != 1 || all[0].Outcome != Committed || all[0].Told != told {
			t.Errorf("the application is gone: %v; %+v", gone, all)
		}
		expect.NoError(t, reads.Close(), server.Close())
	}
}

// standingTalk says how a transaction stands.
type standingTalk struct {
	Talk
	state *State
}

func (t standingTalk) State() State { return *t.state }

// TestCleared has a request that is no statement end a transaction, as a pool's reset of a connection
// does: what was in it is rolled back, and what comes next is another one.
func TestCleared(t *testing.T) {
	state := Within
	l := &link{recorder: NewRecorder(), talk: standingTalk{state: &state}}
	does := func(statements ...*Statement) {
		r := &Request{Statements: statements}
		l.requested(r)
		l.finish(r)
	}
	does(&Statement{Shape: "INSERT INTO t VALUES (?)", Writes: true, Rows: 1})
	does() // a look whether the server is there
	state = Idle
	does()
	state = Within
	does(&Statement{Shape: "INSERT INTO t VALUES (?)", Writes: true, Rows: 1})
	state = Idle
	does(&Statement{Shape: "COMMIT", Kind: Commit})
	does()
	all, _ := l.recorder.Transactions()
	if len(all) != 2 || all[0].Outcome != RolledBack || !all[0].Told || all[1].Outcome != Committed || len(all[1].Statements) != 2 {
		t.Errorf("%+v", all)
	}
}

// TestOutcomes of a text of several statements.
func TestOutcomes(t *testing.T) {
	commit, failed := &Statement{Kind: Commit, Tag: "COMMIT"}, &Statement{Error: "42P01 it is not there"}
	for _, c := range []struct {
		statements []*Statement
		want       Outcome
	}{
		{[]*Statement{{}}, Committed}, {[]*Statement{{}, commit}, Committed}, {[]*Statement{{}, failed}, Refused}, {[]*Statement{failed, commit}, Refused},
		{[]*Statement{commit, failed}, Committed}, {[]*Statement{{Kind: Commit, Tag: "ROLLBACK"}}, RolledBack}, {[]*Statement{{Kind: Rollback}}, RolledBack},
		{[]*Statement{{Doubtful: true, Error: "1180"}}, Unknown},
	} {
		if got := outcomeOf(&Request{Statements: c.statements}); got != c.want {
			t.Errorf("%+v: %s, want %s", c.statements, got, c.want)
		}
	}
}

// TestAPipelineWithoutAnEnd decides nothing, and the server keeps its locks meanwhile: nobody waits for
// its answers once the application is gone.
func TestAPipelineWithoutAnEnd(t *testing.T) {
	state := Idle
	l := &link{recorder: NewRecorder(), talk: standingTalk{state: &state}}
	whole, open := &Request{Statements: []*Statement{{Shape: "INSERT a"}}}, &Request{Statements: []*Statement{{Shape: "INSERT b"}}, Open: true}
	for _, r := range []*Request{whole, open} {
		l.requested(l.joined(r))
	}
	if l.dead = true; !l.waits() {
		t.Error("a request that is whole is not waited for")
	}
	if !l.finish(whole) || l.waits() {
		t.Error("a pipeline without an end is waited for")
	}
}

// owingTalk is one whose application owes data.
type owingTalk struct{ Talk }

func (owingTalk) Owes() bool { return true }

// TestDataWithoutAnEnd decide nothing, and the server keeps its locks meanwhile, whether it asks for them
// before or after the application has gone.
func TestDataWithoutAnEnd(t *testing.T) {
	l := &link{recorder: NewRecorder(), talk: standingTalk{}}
	copies := &Request{Statements: []*Statement{{Shape: "COPY t FROM STDIN"}}}
	l.requested(copies)
	if l.feeds(copies) || !l.waits() {
		t.Error("data that are there are not waited for")
	}
	if l.talk = (owingTalk{}); l.waits() || l.feeds(copies) {
		t.Error("data that an application may still send are waited for, or not taken")
	}
	if l.dead = true; !l.feeds(copies) {
		t.Error("data of an application that has gone are waited for")
	}
}

// TestPlacesInParts are within a transaction only if one is open or something before them is not answered.
func TestPlacesInParts(t *testing.T) {
	l := &link{recorder: NewRecorder()}
	for _, r := range []*Request{
		{Statements: []*Statement{{Shape: "INSERT a"}}, Open: true}, {Statements: []*Statement{{Shape: "INSERT b"}}}, {Statements: []*Statement{{Shape: "INSERT c"}}},
	} {
		l.requested(l.joined(r))
	}
	places := l.recorder.Places()
	if len(places) != 2 || !places[0].Parted || places[0].Within || places[1].Parted || !places[1].Within {
		t.Errorf("%+v, %+v", places[0], places[1])
	}
}

// TestGoneWhileAnAnswerIsHeldBack: nobody was told what was committed.
func TestGoneWhileAnAnswerIsHeldBack(t *testing.T) {
	listener, p := proxied(t)
	for range 20 {
		recorder := p.Record(&Fault{Action: Late + "10m", Place: placeOf([]string{"q"}), Time: 1})
		app, err := net.Dial("tcp", p.Address())
		expect.NoError(t, err)
		server, err := listener.Accept()
		expect.NoError(t, err)
		send(t, app, "q\x00")
		arrives(t, server, "q\x00")
		before := recorder.activity.Load()
		send(t, server, "z\x00")
		for recorder.activity.Load() == before && t.Context().Err() == nil {
			time.Sleep(time.Microsecond)
		}
		expect.NoError(t, app.Close(), p.Quiet(t.Context()), server.Close())
		if all, _ := recorder.Transactions(); len(all) != 1 || all[0].Told {
			t.Fatalf("%+v", all)
		}
	}
}
