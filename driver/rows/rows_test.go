package rows

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/store"
)

func shop() map[string]*Table {
	return Tables(&store.Schema{Tables: []store.Table{{
		Name: "item", KeyColumns: 2,
		Columns: []store.Column{{Name: "shelf"}, {Name: "name", Type: store.String}, {Name: "left"}, {Name: "sold", Type: store.Boolean}, {Name: "marks", Type: store.Ints}},
		Floors:  []store.Minimum{{Name: "item_left", Column: "left"}},
		Indexes: []store.Index{{Name: "item_left", Columns: []string{"left"}}, {Name: "item_name", Columns: []string{"name", "left"}}},
	}}})
}

func all(*Table, int) bool { return true }

// TestAccess uses as many conditions as the order of the key, or of an index, serves.
func TestAccess(t *testing.T) {
	from := store.Condition{Column: "left", Is: store.AtLeast, Value: store.Parameter(2)}
	in := store.Condition{Column: "shelf", Is: store.In, Value: store.Parameter(2)}
	for _, c := range []struct {
		name  string
		where []store.Condition
		order []string
		limit store.Expression
		ways  Ways
		want  Access
	}{
		{"all", nil, nil, store.Expression{}, Ways{Usable: all}, Access{Index: Anyhow, From: -1, To: -1}},
		{"all in order", nil, []string{"shelf"}, store.Expression{}, Ways{InOrder: true, Usable: all}, Access{Index: ByKey, From: -1, To: -1, Sorted: true}},
		{"key", store.Where("name", "shelf"), nil, store.Expression{}, Ways{Keyed: true, Usable: all}, Access{Keyed: []int{1, 0}, Index: Anyhow, From: -1, To: -1}},
		{"keys", append(store.Where("name"), in, from), nil, store.Expression{}, Ways{Keyed: true, Usable: all}, Access{Keyed: []int{1, 0}, Index: Anyhow, From: -1, To: -1, Filtered: true}},
		{"key as a range", store.Where("name", "shelf"), nil, store.Expression{}, Ways{InOrder: true, Usable: all}, Access{Index: ByKey, Equal: []int{1, 0}, From: -1, To: -1, Sorted: true}},
		{"index and range", append(store.Where("name"), from), []string{"left"}, store.Expression{}, Ways{Keyed: true, Usable: all}, Access{Index: 1, Equal: []int{0}, From: 1, To: -1, Sorted: true}},
		{"no such order", append(store.Where("name"), from), []string{"marks"}, store.Expression{}, Ways{Keyed: true, Usable: all}, Access{Index: 1, Equal: []int{0}, From: 1, To: -1}},
		{"an index of another", append(store.Where("name"), from), nil, store.Expression{}, Ways{Usable: func(_ *Table, index int) bool { return index == 0 }}, Access{Index: 0, From: 1, To: -1, Sorted: true, Filtered: true}},
		{"first of an order", nil, []string{"left"}, store.Number(1), Ways{Usable: all}, Access{Index: 0, From: -1, To: -1, Sorted: true}},
	} {
		p, err := Compile(shop(), &store.Statement{Verb: store.Read, Table: "item", Columns: []string{"left"}, Where: c.where, Order: c.order, Limit: c.limit}, c.ways)
		expect.NoError(t, err)
		got := p.Access
		if got.Index != c.want.Index || got.From != c.want.From || got.To != c.want.To || got.Sorted != c.want.Sorted || got.Filtered != c.want.Filtered ||
			!slices.Equal(got.Keyed, c.want.Keyed) || !slices.Equal(got.Equal, c.want.Equal) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestNotCompiled are impossible statements.
func TestNotCompiled(t *testing.T) {
	for word, s := range map[string]store.Statement{
		"language":   {Verb: store.Native, Text: "x"},
		`"nothing"`:  {Verb: store.Read, Table: "nothing"},
		`"none"`:     {Verb: store.Read, Table: "item", Columns: []string{"none"}},
		"of the key": {Verb: store.Update, Table: "item", Set: []store.Assignment{store.Set("shelf", store.Number(1))}},
		"a list":     {Verb: store.Append, Table: "item", Columns: []string{"shelf", "marks"}, Values: []store.Expression{store.Parameter(1), store.Parameter(2)}},
		`"other"`:    {Verb: store.Update, Table: "item", Set: []store.Assignment{store.Set("left", store.Left("other", "x"))}},
	} {
		if _, err := Compile(shop(), &s, Ways{Usable: all}); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v, want it to speak of %s", err, word)
		}
	}
}

// TestAssignments all see the old row, and a sum beyond 64 bits is refused.
func TestAssignments(t *testing.T) {
	p, err := Compile(shop(), &store.Statement{Verb: store.Update, Table: "item",
		Set: []store.Assignment{store.Add("left", store.Old("left")), store.Set("sold", store.Parameter(1)), store.Set("marks", store.Parameter(2))}}, Ways{Usable: all})
	expect.NoError(t, err)
	row, after := p.Table.Make(), p.Table.Make()
	row.Numbers[1], row.Texts[0] = 7, "pen"
	after.Copy(row)
	parameters := []store.Value{store.OfBool(true), store.OfList([]int64{1, -2})}
	var e Evaluation
	expect.NoError(t, e.Assign(p, parameters, row, nil))
	p.Table.Write(after, p.Written, e.Values)
	if want := (Row{[]int64{0, 14, 1}, []string{"pen", ListText(1, -2)}}); !slices.Equal(after.Numbers, want.Numbers) || !slices.Equal(after.Texts, want.Texts) {
		t.Errorf("%v, want %v", after, want)
	}
	row.Numbers[1] = math.MaxInt64
	if err := e.Assign(p, parameters, row, nil); !errors.Is(err, errTooGreat) {
		t.Errorf("a sum of more than 64 bits: %v", err)
	}
	if err := e.Assign(p, parameters[:1], row, nil); err == nil {
		t.Error("a parameter that is missing was taken")
	}
	var v *Violation
	after.Numbers[1] = -1
	if err := p.Table.Allow(after); !errors.As(err, &v) || v.Kind != store.Floor {
		t.Errorf("below the floor: %v", err)
	}
}
