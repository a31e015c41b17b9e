package sqldb

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/store"
)

var _ store.ExistingTables = (*Namespace)(nil)

// CheckShape implements store.ExistingTables. From then on statements use the server's names in
// quotes, as they may be reserved words.
func (n *Namespace) CheckShape(ctx context.Context) error {
	quoted := map[string]string{}
	err := n.use(ctx, "look at the existing tables", func(c Conn) error {
		for i := range n.Schema.Tables {
			t := &n.Schema.Tables[i]
			shape, err := n.shape(ctx, c, t.Name)
			if err == nil {
				err = shape.Check(t)
			}
			if err != nil {
				return err
			}
			shape.Quote(t, n.SQL.Quote, quoted)
		}
		return nil
	})
	n.SQL.Reserved = quoted
	return err
}

// Attached implements store.ExistingTables.
func (n *Namespace) Attached(ctx context.Context, table string) (all []store.Attachment, err error) {
	if n.Catalog.Attached == "" {
		return nil, nil
	}
	err = n.use(ctx, "look at what hangs on the existing tables", func(c Conn) error {
		home, name, kind, err := n.located(ctx, c, table)
		if err != nil || name == "" {
			return err
		}
		full := home + "." + name
		if kind != "" {
			all = append(all, store.Attachment{Table: full, Text: "the " + kind + " itself", Alters: true})
		}
		return c.Query(ctx, n.Catalog.Attached, func(row store.Row) error {
			a := store.Attachment{Table: full}
			err := row.Scan(&a.Text, &a.Alters)
			all = append(all, a)
			return err
		}, store.OfText(home), store.OfText(name))
	})
	return all, err
}

// located finds the table that a statement calls by this name; table is empty if there is none.
func (n *Namespace) located(ctx context.Context, c Conn, called string) (home, table, kind string, err error) {
	err = c.Query(ctx, n.Catalog.Located, func(row store.Row) error { return row.Scan(&home, &table, &kind) }, store.OfText(called))
	if table != "" {
		n.home = home
	}
	return home, table, kind, err
}

func (n *Namespace) shape(ctx context.Context, c Conn, name string) (s Shape, err error) {
	s.Table = name
	home, table, kind, err := n.located(ctx, c, name)
	if err != nil || table == "" {
		s.Missing = n.Catalog.LocatedHint
		return s, err
	}
	s.Table, s.Kind, s.Name = home+"."+table, kind, []string{table}
	if strings.Contains(name, ".") {
		s.Name = []string{home, table}
	}
	at := []store.Value{store.OfText(home), store.OfText(table)}
	err = c.Query(ctx, n.Catalog.Columns, func(row store.Row) error {
		var f Field
		err := row.Scan(&f.Name, &f.Type, &f.Length, &f.Demanded, &f.Generated)
		s.Fields = append(s.Fields, f)
		return err
	}, at...)
	if err != nil {
		return s, err
	}
	err = c.Query(ctx, n.Catalog.Keys, func(row store.Row) error {
		s.Key = append(s.Key, "")
		return row.Scan(&s.Key[len(s.Key)-1])
	}, at...)
	return s, err
}

// StandardKeys is Catalog.Keys by the standard's views, which hide keys from a user who may only
// read. Concat turns the standard's types into plain text.
const StandardKeys = `SELECT concat(k.column_name, '') FROM information_schema.table_constraints t
	JOIN information_schema.key_column_usage k ON k.constraint_schema = t.constraint_schema AND k.constraint_name = t.constraint_name
		AND k.table_schema = t.table_schema AND k.table_name = t.table_name
	WHERE t.constraint_type = 'PRIMARY KEY' AND t.table_schema = $1 AND t.table_name = $2 ORDER BY k.ordinal_position`

// Shape is the shape of an existing table.
type Shape struct {
	// Table is the full name. Kind is empty for a plain table.
	Table, Kind string
	// Name has the parts of the name in statements.
	Name []string
	// Missing says what to do if the table is missing; else it is empty.
	Missing string
	Fields  []Field
	Key     []string
}

// Field is a column of a Shape.
type Field struct {
	Name string
	// Type is the product's, in lower case. Length is in characters; 0 means no limit.
	Type   string
	Length int64
	// Demanded columns need a value in each insert. Generated columns refuse one.
	Demanded, Generated bool
}

// Quote enters the quoted names of table and columns into the map.
func (s *Shape) Quote(of *store.Table, mark string, into map[string]string) {
	quoted := func(parts ...string) string {
		for i, p := range parts {
			parts[i] = mark + strings.ReplaceAll(p, mark, mark+mark) + mark
		}
		return strings.Join(parts, ".")
	}
	into[of.Name] = quoted(s.Name...)
	for _, c := range of.Columns {
		for _, f := range s.Fields {
			if strings.EqualFold(f.Name, c.Name) {
				into[c.Name] = quoted(f.Name)
			}
		}
	}
}

// Check returns *store.ShapeError with all differences. It ignores the case of names. CHAR is no
// text, since its padding changes what is read.
func (s *Shape) Check(want *store.Table) error {
	var differs []string
	add := func(format string, a ...any) { differs = append(differs, fmt.Sprintf(format, a...)) }
	if s.Missing != "" {
		add("there is none of this name; %s", s.Missing)
		return &store.ShapeError{Table: s.Table, Differs: differs}
	}
	if s.Kind != "" {
		add("it is no plain table but a %s", s.Kind)
	}
	for i := range want.Columns {
		c := &want.Columns[i]
		at := slices.IndexFunc(s.Fields, func(f Field) bool { return strings.EqualFold(f.Name, c.Name) })
		if at < 0 {
			add("column %s is missing, or hidden from this user", c.Name)
			continue
		}
		f := s.Fields[at]
		if f.Generated {
			add("column %s is generated by the database, and the workload writes it", f.Name)
		}
		switch text := c.Type == store.String || c.Type == store.ASCII; {
		case text && !strings.Contains(f.Type, "text") && !strings.Contains(f.Type, "varchar") && f.Type != "character varying":
			add("column %s is of type %s, not text or varchar", c.Name, f.Type)
		case text && f.Length > 0 && f.Length < int64(c.Length):
			add("column %s holds %d characters, and %d are to be written", c.Name, f.Length, c.Length)
		}
	}
	for _, f := range s.Fields {
		if f.Demanded && !slices.ContainsFunc(want.Columns, func(c store.Column) bool { return strings.EqualFold(f.Name, c.Name) }) {
			add("column %s needs a value, and the workload has none for it", f.Name)
		}
	}
	if !slices.EqualFunc(s.Key, want.Key(), strings.EqualFold) {
		key := "it has no primary key"
		if len(s.Key) > 0 {
			key = "its primary key is " + strings.Join(s.Key, ", ")
		}
		add("%s, not %s", key, strings.Join(want.Key(), ", "))
	}
	if differs != nil {
		return &store.ShapeError{Table: s.Table, Differs: differs}
	}
	return nil
}
