package wire

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"assay/internal/expect"
)

// TestPasswordsAreNotKept: neither parameters of a statement about them, nor values that have one within,
// nor the rows and the words of an error. Equal ones stay equal.
func TestPasswordsAreNotKept(t *testing.T) {
	for text, parameters := range map[string][]string{
		"UPDATE users SET password = $1 WHERE id = $2":                             {"hunter2", "7"},
		"SELECT set_secret(?)":                                                     {"hunter2"},
		"INSERT INTO users (id, pwd_hash) VALUES ($1, crypt($2, gen_salt('bf')))":  {"7", "hunter2"},
		"CREATE SUBSCRIPTION s CONNECTION 'host=h password=hunter2' PUBLICATION p": nil,
		"SELECT dblink_connect('postgres://me:hunter2@host/shop')":                 nil,
		"DO $$ BEGIN ALTER ROLE me PASSWORD 'hunter2'; END $$":                     nil,
		"SELECT run($1)":                   {"ALTER USER me IDENTIFIED BY 'hunter2'"},
		"ALTER ROLE me PASSWORD 'hunter2'": nil,
		`INSERT INTO log VALUES ($1)`:      {`{"password": "hunter2"}`},
		"INSERT INTO raw VALUES ($1)":      {Bytes([]byte("\x01{\"password\": \"hunter2\"}"), ", type 3802")},
	} {
		recorder := NewRecorder()
		recorder.KeepAnswers()
		l := &link{recorder: recorder, talk: answeredTalk{}}
		for range 2 {
			r := &Request{Statements: Statements(text)}
			s := r.Statements[0]
			s.Values = append(s.Values, parameters...)
			l.requested(l.joined(r))
			s.Answer.Row(rowOf("hunter2"))
			s.Error = "22023 what is hunter2"
			l.finish(r)
		}
		all, _ := recorder.Transactions()
		kept, err := json.Marshal(all[0])
		expect.NoError(t, err)
		if of := all[0].Statements[0]; strings.Contains(strings.Join(of.Values, " "), "hunter2") || strings.Contains(string(kept), `"hunter2`) || strings.Contains(string(kept), "is hunter2") {
			t.Errorf("%s: %s", text, kept)
		}
		if of := all[0].Statements[0]; !slices.ContainsFunc(of.Values, Concealed) {
			t.Errorf("%s: nothing of %q is concealed", text, of.Values)
		}
		if len(all) != 2 || all[0].Statements[0].Shape != all[1].Statements[0].Shape || strings.Join(all[0].Statements[0].Values, " ") != strings.Join(all[1].Statements[0].Values, " ") {
			t.Errorf("%s: the second is %v", text, all)
		}
	}
	s := &Statement{Shape: "UPDATE users SET name = $1", Values: []string{"hunter2"}}
	if s.conceal(false); s.Values[0] != "hunter2" {
		t.Errorf("a name is %q", s.Values[0])
	}
}

// rowOf is a row of one value.
func rowOf(value string) func() (string, bool) {
	more := true
	return func() (string, bool) {
		was := more
		more = false
		return value, was
	}
}

// TestWhatIsReadDoesNotChange while connections go on: assay tells what has passed at any time.
func TestWhatIsReadDoesNotChange(t *testing.T) {
	r := NewRecorder()
	shapes := func() []string { return []string{"INSERT a"} }
	r.came("abcd0123", Other, false, false, shapes)
	done := &Transaction{Place: "abcd0123", Outcome: Committed, Told: true, Statements: []*Statement{{Writes: true, Rows: 1}}}
	places := r.Places()
	r.came("abcd0123", Other, false, false, shapes)
	r.ended(done)
	all, _ := r.Transactions()
	r.settle([]*Transaction{done}, false)
	if places[0].Times != 1 || places[0].Commits || !all[0].Told {
		t.Errorf("what was read is now %+v, %+v", places[0], all[0])
	}
	all, _ = r.Transactions()
	if now := r.Places(); now[0].Times != 2 || !now[0].Commits || all[0].Told {
		t.Errorf("what is read is %+v, %+v", now[0], all[0])
	}
}

// TestAFaultThatIsTakenBack while a connection meets it is done all the same.
func TestAFaultThatIsTakenBack(t *testing.T) {
	l := &link{}
	f := &Fault{Action: AnswerLost, Place: PlaceConnect, Time: 1}
	l.arm(nil)
	if l.refuse(f) {
		t.Error("a lost answer refuses a connection")
	}
}
