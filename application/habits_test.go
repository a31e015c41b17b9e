package application

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/application/wire"
	"assay/internal/expect"
)

// TestHabits finds a query in a row, and a transaction that waits.
func TestHabits(t *testing.T) {
	query := func(text string) *wire.Transaction {
		return &wire.Transaction{Connection: 1, Statements: wire.Statements(text), Outcome: wire.Committed}
	}
	one := []string{"SELECT 1", "SELECT * FROM a WHERE id = 1", "SELECT * FROM a WHERE id = 2", "SELECT * FROM a WHERE id = 3", "SELECT * FROM a WHERE id = 4", "SELECT * FROM a WHERE id = 5"}
	var of row
	n := 0
	for _, text := range one {
		n = of.add(query(text).Statements[0])
	}
	if n != 5 {
		t.Errorf("5 in a row are %d", n)
	}
	if n = of.add(query("SELECT * FROM a WHERE id = 5").Statements[0]); n != 1 {
		t.Errorf("the same query again is %d in a row", n)
	}
	var all []*wire.Transaction
	for i, text := range append(one, "UPDATE a SET n = 1", "UPDATE b SET n = 1") {
		x := query(text)
		x.Idle = map[int]time.Duration{6: 2 * leastIdle, 7: leastIdle / 2}[i]
		all = append(all, x)
	}
	elsewhere := query("SELECT * FROM a WHERE id = 6")
	elsewhere.Connection, elsewhere.Outcome = 2, wire.Refused
	u := learn(&run{all: append(all, elsewhere), recorder: wire.NewRecorder()}).describe()
	if len(u.Habits) != 2 || u.Committed != 8 || u.Kinds["refused"] != 1 || u.Statements != 9 || u.Idle != 2.5 {
		t.Fatalf("it is described as %+v", u)
	}
	if h := u.Habits[0]; h.Kind != "n+1" || h.Times != 5 || h.line() != "5 queries in a row of SELECT * FROM a WHERE id = ?" {
		t.Errorf("the queries in a row are %+v: %s", h, h.line())
	}
	if h := u.Habits[1]; h.Kind != "open" || h.Statement != "UPDATE a SET n = ?" || !strings.Contains(h.line(), "was open for 2.0 s") {
		t.Errorf("the transaction that stays open is %+v", h)
	}
}

// TestUnansweredStatementsTakeNoTime: the time of the server is the sum of the answered ones, and is
// not less than 0 where an answer never came.
func TestUnansweredStatementsTakeNoTime(t *testing.T) {
	x := sold(0, true, "SELECT 1", "SELECT 2")
	x.Statements[0].Sent, x.Statements[0].Answered = 10*time.Second, 12*time.Second
	x.Statements[1].Sent = 3 * time.Hour
	b := &baseline{run: &run{recorder: wire.NewRecorder(), all: []*wire.Transaction{x}}}
	if u := b.describe(); u.Database != 2 || u.Statements != 2 {
		t.Errorf("the server worked for %v s, in %d statements", u.Database, u.Statements)
	}
}

// away is a product whose server nobody reaches.
type away struct{ silent }

func (away) Greet(context.Context, *wire.App) ([]byte, wire.Talk, error) {
	return nil, struct{ wire.Talk }{}, nil
}
func (away) Words() wire.Words                      { return wire.Words{} }
func (away) Dial(context.Context) (net.Conn, error) { return nil, errors.New("away") }

// TestNext is what an application did after an event: sent the transaction again, connected again, ended.
func TestNext(t *testing.T) {
	proxy, err := wire.Listen("127.0.0.1:0", away{})
	expect.NoError(t, err)
	expect.AtEnd(t, proxy.Close)
	recorder := proxy.Record(nil)
	for range 2 {
		conn, err := net.Dial("tcp", proxy.Address())
		expect.NoError(t, err)
		_, _ = conn.Read(make([]byte, 1)) // until the proxy closes it, by which it has counted it
		expect.NoError(t, conn.Close())
	}
	b := learn(&run{recorder: wire.NewRecorder()})
	r := &run{recorder: recorder, ending: ending{exit: 3, said: "no luck"}}
	if got, want := b.next(r, 2), `sent the transaction again 2 times, opened 2 more connections, ended with 3 and printed last "no luck"`; got != want {
		t.Errorf("it is %s", got)
	}
	r = &run{recorder: wire.NewRecorder()}
	if got, want := b.next(r, 0), "ended with 0"; got != want {
		t.Errorf("of one that did nothing more it is %s", got)
	}
}

// TestAnEventAgain stands before the application's command, whatever stands in assay's own part.
func TestAnEventAgain(t *testing.T) {
	p := Plan{Again: []string{"assay", "app", "--reset", "psql -- shop"}, Command: []string{"./shop", "--", "password=hunter2"}}
	r := &Report{}
	r.own, r.Again = p.again()
	for want, one := range map[string]Try{
		"assay app --reset 'psql -- shop' --event reset@connect:1 -- ./shop -- 'password=xxxxx'": {Event: "reset@connect:1", Action: wire.Reset},
		"assay app --reset 'psql -- shop' --fault 'kill primary' -- ./shop -- 'password=xxxxx'":  {Event: "kill primary"},
	} {
		if got := r.again(one); got != want {
			t.Errorf("again: %s", got)
		}
	}
}

// TestAgainHasNoPassword, whichever quotation marks the user has written it between.
func TestAgainHasNoPassword(t *testing.T) {
	for reset, want := range map[string]string{
		`mysql --password='hunter2' shop < shop.sql`: `'mysql --password=xxxxx shop < shop.sql'`,
		`mysql -p"hunter2" shop < shop.sql`:          `'mysql -pxxxxx shop < shop.sql'`,
		`psql 'postgres://me:hunter2@h/shop' -f a`:   `'psql '\''postgres://me:xxxxx@h/shop'\'' -f a'`,
	} {
		p := Plan{Again: []string{"assay", "app", "--reset", reset}, Command: []string{"sh", "-c", `PGPASSWORD='hunter2' ./app`}}
		own, whole := p.again()
		if want := "assay app --reset " + want; own != want || whole != want+" -- sh -c 'PGPASSWORD=xxxxx ./app'" {
			t.Errorf("%s\n%s", own, whole)
		}
	}
}

// TestALogIsItsOwners, since it may have the password until the application has ended.
func TestALogIsItsOwners(t *testing.T) {
	folder := t.TempDir()
	x := &trying{Plan: Plan{Command: []string{"stat", "-c", "mode %a", filepath.Join(folder, "run-001.log")}, Product: silent{}, Folder: folder, Patience: time.Minute}}
	_, err := x.once(t.Context(), nil)
	expect.NoError(t, err)
	said, err := os.ReadFile(filepath.Join(folder, "run-001.log"))
	expect.NoError(t, err)
	expect.Text(t, "the log's mode while the application ran", string(said), "mode 600")
}
