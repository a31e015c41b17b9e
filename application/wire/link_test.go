package wire

import (
	"net"
	"testing"

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
		l := &link{recorder: NewRecorder(), app: &App{Conn: app}, server: server, talk: answeredTalk{}, places: map[string]string{}, gone: make(chan struct{})}
		l.requested(&Request{Statements: []*Statement{{Shape: "UPDATE t SET n = n + ?"}}})
		l.fromServer(t.Context())
		all, _ := l.recorder.Transactions()
		if len(all) != 1 || all[0].Outcome != Committed || all[0].Told != told {
			t.Errorf("the application is gone: %v; %+v", gone, all)
		}
		expect.NoError(t, reads.Close(), server.Close())
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
