package sqldb

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/store"
)

// object is something in the schema, or on a part of it. Kind and name identify it.
type object struct{ kind, name, on string }

func (o object) String() string { return o.kind + " " + o.name }

func (o object) described(schema string) string {
	switch {
	case o.on == schema:
		return o.String()
	case strings.HasSuffix(o.name, " on "+o.on), strings.HasPrefix(o.name, o.on+" in "):
		return o.String()
	}
	return o.String() + " (on " + o.on + ")"
}

func (n *Namespace) objects(ctx context.Context, c Conn) (found []object, err error) {
	names := ""
	if !n.Open {
		all := []string{"assay_mark", "assay_lease"}
		for _, t := range n.Schema.Tables {
			all = append(all, t.Name)
		}
		names = strings.Join(all, ",")
	}
	err = c.Query(ctx, n.Catalog.Others, func(row store.Row) error {
		var o object
		err := row.Scan(&o.kind, &o.name, &o.on)
		found = append(found, o)
		return err
	}, store.OfText(n.Name), store.OfText(names))
	return found, err
}

// made names the indexes that Create makes. Products name an index by itself or within its table.
func (n *Namespace) made() (names []string) {
	for _, t := range n.Schema.Tables {
		for _, i := range t.Indexes {
			names = append(names, "index "+n.table(i.Name), "index "+i.Name+" on "+n.table(t.Name))
		}
	}
	return names
}

// Others implements ownership.Place. The mark has the objects of a user's setup.
func (n *Namespace) Others(ctx context.Context, c Conn) error {
	m, err := n.readMark(ctx, c)
	if err != nil || m == nil {
		return err
	}
	found, err := n.objects(ctx, c)
	if err != nil {
		return err
	}
	ours := append(n.made(), m.Made...)
	var others []string
	for _, o := range found {
		if !slices.Contains(ours, o.String()) {
			others = append(others, o.described(n.Name))
		}
	}
	if len(others) == 0 {
		return nil
	}
	return &store.ForeignError{Name: n.Title(), Others: others, Hint: n.Catalog.OtherHint}
}

// RecordMade records in the mark of an Open schema what its setup made.
func (n *Namespace) RecordMade(ctx context.Context) error {
	return n.use(ctx, "note what was made", func(c Conn) error {
		return n.inOne(ctx, c, func(c Conn) error {
			m, err := n.MustMark(ctx, c)
			if err != nil {
				return err
			}
			return n.WriteMark(ctx, c, *m)
		})
	})
}

// dropMade drops what an Open schema's setup made. Objects that others depend on are tried again.
// Tables go in one statement if that lets them refer to each other.
func (n *Namespace) dropMade(ctx context.Context, c Conn) error {
	found, err := n.objects(ctx, c)
	if err != nil {
		return err
	}
	var statements []string
	for _, kind := range n.Catalog.Kinds {
		var names []string
		for _, o := range found {
			if o.kind == kind && (o.on == n.Name) {
				names = append(names, o.name)
			}
		}
		if kind == "table" && n.Catalog.Unchecked == "" && len(names) > 0 {
			names = []string{strings.Join(names, ", ")}
		}
		for _, name := range names {
			statements = append(statements, "DROP "+strings.ToUpper(strings.TrimPrefix(kind, "composite "))+" IF EXISTS "+name)
		}
	}
	if n.Catalog.Unchecked != "" {
		return all(ctx, c, slices.Concat([]string{n.Catalog.Unchecked}, statements, []string{n.Catalog.Checked}))
	}
	return n.dropInAnyOrder(ctx, c, statements)
}

// dropInAnyOrder repeats the statements until all are done, or none succeeds any more.
func (n *Namespace) dropInAnyOrder(ctx context.Context, c Conn, statements []string) error {
	for len(statements) > 0 {
		var left []string
		var refused error
		for _, statement := range statements {
			err := n.attemptDrop(ctx, c, statement)
			switch {
			case err == nil:
			case n.Server.Kind(err) == InUse:
				left, refused = append(left, statement), err
			default:
				return err
			}
		}
		if len(left) == len(statements) {
			return n.inUse(refused)
		}
		statements = left
	}
	return nil
}

// attemptDrop does a statement whose refusal must not end the surrounding transaction.
func (n *Namespace) attemptDrop(ctx context.Context, c Conn, statement string) error {
	if n.Catalog.stepwise() {
		_, err := c.Change(ctx, statement)
		return err
	}
	if _, err := c.Change(ctx, "SAVEPOINT assay_drop"); err != nil {
		return err
	}
	_, err := c.Change(ctx, statement)
	end := "RELEASE SAVEPOINT assay_drop"
	if err != nil {
		end = "ROLLBACK TO SAVEPOINT assay_drop"
	}
	if _, failed := c.Change(ctx, end); failed != nil {
		return failed
	}
	return err
}

// inUse turns an InUse error into *store.ForeignError. The dependent object is new, or of a kind
// that Others does not list.
func (n *Namespace) inUse(err error) error {
	if err == nil || n.Server.Kind(err) != InUse {
		return err
	}
	return &store.ForeignError{Name: n.Title(), Others: []string{fmt.Sprintf("something that the server tells of: %v", err)}, Hint: n.Catalog.OtherHint}
}
