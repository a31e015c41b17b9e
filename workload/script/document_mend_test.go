package script

import (
	"context"
	"slices"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/store"
)

// commandsSent keeps the commands that were sent.
type commandsSent struct {
	fakeTransaction
	shapes []string
}

func (c *commandsSent) Query(ctx context.Context, s Statement, row func([]any) error) error {
	c.shapes = append(c.shapes, s.Command.shape())
	return c.fakeTransaction.Query(ctx, s, row)
}

func (c *commandsSent) Execute(ctx context.Context, s Statement) (int64, error) {
	c.shapes = append(c.shapes, s.Command.shape())
	return c.fakeTransaction.Execute(ctx, s)
}

// TestChangesOfDocuments: on MongoDB a find before a write of its collection can be made a
// lock by a write to what it selects; where there is none, it is said that no change is known.
func TestChangesOfDocuments(t *testing.T) {
	const script = `
def leave(tx, r):
    tx.find("doctor", {"shift": r.range(1, 1), "on_call": 1})
    tx.update("doctor", {"_id": 1}, {"$set": {"on_call": 0}})
def look(tx, r):
    tx.find("doctor", {"shift": 2})
transaction("leave", run = leave)
transaction("look", run = look)
`
	config := configOf("x.star", script)
	p, err := config.compile(Documents)
	expect.NoError(t, err)
	shapes := func(commands ...*DocumentCommand) *template {
		of := &template{Transaction: "leave"}
		for i, c := range commands {
			all, _ := c.accesses()
			of.Statements = append(of.Statements, c.shape())
			of.Operations = append(of.Operations, operationsOf(&all[0], "", 1, i)...)
		}
		return of
	}
	find := &DocumentCommand{Verb: Find, Collection: "doctor", Filter: documentWith("shift", int64(1), "on_call", int64(1))}
	update := &DocumentCommand{Verb: Update, Collection: "doctor", Filter: documentWith("_id", int64(1)), Change: documentWith("$set", documentWith("on_call", int64(0)))}
	for name, test := range map[string]struct {
		sent *template
		want []string
	}{
		"read, then written": {shapes(find, update), []string{find.shape()}},
		"written, then read": {shapes(update, find), nil},
	} {
		all, untried, err := config.Changes(&Sent{templates: []template{*test.sent}}, "MongoDB", nil)
		expect.NoError(t, err)
		said := strings.Contains(strings.Join(untried, "; "), "no change is known to be expressible for MongoDB")
		if said != (test.want == nil) || len(all) != len(test.want) || len(all) == 1 && !slices.Equal(all[0].Mend.WriteFirst, test.want) {
			t.Errorf("%s: %+v, not tried: %q", name, all, untried)
		}
	}
	p.mend.WriteFirst = []string{find.shape()}
	tx := &commandsSent{fakeTransaction: fakeTransaction{answers: [][][]any{{{store.Document{}}}, {{store.Document{}}}}}}
	for i := range p.transactions {
		c := newCall(p, &p.transactions[i], randomOf(7, 1, 1), 1, 1)
		expect.NoError(t, c.run(t.Context(), tx))
	}
	want := []string{"update doctor {shift: ?, on_call: ?} {$inc: {assay_lock: ?}}", find.shape(), update.shape(), "find doctor {shift: ?}"}
	if !slices.Equal(tx.shapes, want) {
		t.Errorf("sent %q, want %q", tx.shapes, want)
	}
}

// TestAddedIsTheNewStatement shows a change as the statement that is to be written.
func TestAddedIsTheNewStatement(t *testing.T) {
	for text, want := range map[string]string{
		"UPDATE product SET stock = $1 WHERE id = $2": "UPDATE product SET stock = stock + $1 WHERE id = $2",
		"update t set a=$1, b = $2":                   "update t set a = a + $1, b = b + $2",
	} {
		if got := added(text); got != want {
			t.Errorf("%s becomes %s", text, got)
		}
	}
}
