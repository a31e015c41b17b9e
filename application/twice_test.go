package application

import (
	"strings"
	"testing"
	"time"

	"assay/application/wire"
)

// replaced is a committed transaction of these texts. Its DELETE has removed so many rows, and its
// other statements have changed one each.
func replaced(at time.Duration, deleted int64, texts ...string) *wire.Transaction {
	t := sold(at, at > 10, texts...)
	for _, s := range t.Statements {
		tables, whole := removes(s.Shape)
		switch _, inserts := changes(s.Shape); {
		case whole:
			s.Writes, s.Rows = false, 0
		case len(tables) > 0 && !inserts:
			s.Rows = deleted
		}
	}
	return t
}

// TestReplacements are done again without a trace: what was there is removed first. What only looks
// like one is done twice.
func TestReplacements(t *testing.T) {
	const place, other = "INSERT INTO cart(o, n) VALUES (7, 1)", "other"
	both := func(first, second *wire.Transaction, between ...*wire.Transaction) []*wire.Transaction {
		return append(append([]*wire.Transaction{first}, between...), second)
	}
	alone := func(at time.Duration, rows int64, text string) *wire.Transaction {
		x := replaced(at, rows, text)
		x.Place = other
		return x
	}
	many := "INSERT INTO cart(o) VALUES (1)" + strings.Repeat(", (7)", wire.MaxValues)
	again := func(deleted int64, texts ...string) []*wire.Transaction {
		return both(replaced(1, 0, texts...), replaced(20, deleted, texts...))
	}
	for name, c := range map[string]struct {
		all            []*wire.Transaction
		found, certain bool
	}{
		"inserted":                          {again(0, place), true, true},
		"deleted and inserted":              {again(1, "BEGIN", "DELETE FROM cart WHERE o = 7", place, "COMMIT"), false, false},
		"deleted nothing":                   {again(0, "DELETE FROM cart WHERE o = 7", place), true, true},
		"deleted fewer":                     {again(1, "DELETE FROM cart WHERE o = 7", place, place), true, false},
		"deleted what others hang on":       {again(1, "DELETE FROM orders WHERE id = 7", place), true, false},
		"a schema's, quoted":                {again(1, `DELETE FROM shop."cart" c WHERE o = 7`, place), false, false},
		"truncated":                         {again(0, "TRUNCATE cart, line RESTART IDENTITY", place), false, false},
		"truncated another":                 {again(0, "TRUNCATE TABLE line", place), true, true},
		"made anew":                         {again(0, "DROP TABLE IF EXISTS cart", "CREATE TABLE cart (o int)", place), false, false},
		"temporary":                         {again(0, "CREATE TEMP TABLE cart (o int)", place), false, false},
		"temporary, made earlier":           {both(replaced(1, 0, place), replaced(20, 0, place), alone(0, 0, "CREATE TEMPORARY TABLE IF NOT EXISTS cart (o int)")), false, false},
		"deleted in between":                {both(replaced(1, 0, place), replaced(20, 0, place), alone(8, 1, "DELETE FROM cart WHERE o = 7")), false, false},
		"another deleted in between":        {both(replaced(1, 0, place), replaced(20, 0, place), alone(8, 1, "DELETE FROM cart WHERE o = 8")), true, true},
		"truncated in between":              {both(replaced(1, 0, place), replaced(20, 0, place), alone(8, 0, "TRUNCATE cart")), false, false},
		"deleted in the same statement":     {again(0, "WITH gone AS (DELETE FROM cart WHERE o = 7) INSERT INTO cart(o) VALUES (7)"), true, false},
		"merged":                            {again(0, "MERGE INTO cart USING new ON cart.o = new.o WHEN MATCHED THEN UPDATE SET n = 1 WHEN NOT MATCHED THEN INSERT (o, n) VALUES (7, 1)"), false, false},
		"counted in what was replaced":      {again(1, "DELETE FROM cart WHERE o = 7", place, "UPDATE cart SET n = n + 1 WHERE o = 7"), false, false},
		"counted elsewhere":                 {again(1, "DELETE FROM cart WHERE o = 7", place, "UPDATE item SET stock = stock - 1"), true, true},
		"counted from what was set":         {again(0, "UPDATE item SET stock = 0", "UPDATE item SET stock = stock + 5"), true, false},
		"counted from another column's":     {again(0, "UPDATE item SET seen = 1", "UPDATE item SET stock = stock + 5"), true, true},
		"an order's lines, deleted with it": {both(replaced(1, 0, place), replaced(20, 0, place), alone(8, 1, "DELETE FROM orders WHERE id = 7"), alone(9, 1, "INSERT INTO orders(id) VALUES (7)")), true, false},
		"with its order in the same":        {both(replaced(1, 0, "INSERT INTO orders(id) VALUES (7)", place), replaced(20, 0, "INSERT INTO orders(id) VALUES (7)", place), alone(8, 1, "DELETE FROM orders WHERE id = 7")), true, false},
		"an order stays deleted":            {both(replaced(1, 0, place), replaced(20, 0, place), alone(8, 1, "DELETE FROM orders WHERE id = 7")), true, true},
		"fewer deleted in between":          {both(replaced(1, 0, place, place), replaced(20, 0, place, place), alone(8, 1, "DELETE FROM cart WHERE o = 7")), true, false},
		"more values than are kept":         {both(replaced(1, 0, many), replaced(20, 0, many), alone(8, 1, "DELETE FROM cart WHERE o = 777")), true, false},
		"a schema made anew":                {both(replaced(1, 0, place), replaced(20, 0, place), alone(8, 0, "DROP SCHEMA shop CASCADE")), false, false},
		"filled in":                         {again(0, "UPDATE item SET seen = coalesce(seen, 5)"), true, false},
		"merged in JSON":                    {again(0, "UPDATE item SET more = more || '{}'"), true, false},
		"the sum of lines":                  {again(0, "UPDATE orders SET total = (SELECT sum(l.total) + 5 FROM line l)"), true, false},
		"counted from what may be missing":  {again(0, "UPDATE item SET stock = coalesce(stock, 0) - 1"), true, true},
		"put":                               {again(0, "INSERT INTO kv (k, n) VALUES (1, 5) ON CONFLICT (k) DO UPDATE SET n = EXCLUDED.n, m = 5"), false, false},
		"put where it is missing":           {again(0, "INSERT INTO kv (k, n) VALUES (1, 5) ON CONFLICT (k) DO UPDATE SET n = coalesce(kv.n, EXCLUDED.n)"), true, false},
		"counted where it is there":         {again(0, "INSERT INTO kv (k, n) VALUES (1, 5) ON CONFLICT (k) DO UPDATE SET n = kv.n + EXCLUDED.n"), true, true},
		"counted from another table":        {again(0, "UPDATE item SET stock = s.stock + 1 FROM store s"), true, false},
		"appended":                          {again(0, "UPDATE item SET note = concat(note, 'x')"), true, true},
		"counted by another name":           {again(0, "UPDATE item i SET i.stock = i.stock - 1"), true, true},
		"counted, of its table":             {again(0, `UPDATE "item" SET "stock" = ("item"."stock" - 1)`), true, true},
		"counted at an upsert":              {again(0, "INSERT INTO item (id, n) VALUES (7, 1) ON DUPLICATE KEY UPDATE n = n + VALUES(n)"), true, true},
		"counted at one with a name":        {again(0, "INSERT INTO item (id, n) VALUES (7, 1) AS new ON DUPLICATE KEY UPDATE n = item.n + new.n"), true, true},
		"counted at one of PostgreSQL":      {again(0, "INSERT INTO item (id, n) VALUES (7, 1) ON CONFLICT (id) DO UPDATE SET n = item.n + EXCLUDED.n"), true, true},
		"set at an upsert":                  {again(0, "INSERT INTO item (id, n) VALUES (7, 1) ON DUPLICATE KEY UPDATE n = VALUES(n)"), false, false},
		"set at one with a name":            {again(0, "INSERT INTO item (id, n) VALUES (7, 1) AS new ON DUPLICATE KEY UPDATE n = new.n + 1"), false, false},
		"set at one of PostgreSQL":          {again(0, "INSERT INTO item (id, n) VALUES (7, 1) ON CONFLICT (id) DO UPDATE SET n = EXCLUDED.n"), false, false},
		"counted at an upsert, and reset":   {again(0, "UPDATE item SET n = 0", "INSERT INTO item (id, n) VALUES (7, 1) ON DUPLICATE KEY UPDATE n = n + 1"), true, false},
		"counted from what was set between": {both(replaced(1, 0, "UPDATE item SET stock = stock + 5"), replaced(20, 0, "UPDATE item SET stock = stock + 5"), alone(8, 0, "UPDATE item SET stock = 0")), true, false},
	} {
		b := baseline{steady: true}
		b.committed, b.exact = count(c.all[:1])
		committed, exact := count(c.all)
		two, certain := b.twice(&run{all: c.all, moment: moment{met: 3}}, committed, exact)
		if (two != nil) != c.found || certain != c.certain {
			t.Errorf("%s: found %v, certain %v", name, two != nil, certain)
		}
	}
}

// TestConcealedValuesMayBeTheSame: where a row is removed by its key, of which an INSERT with a password
// has a mark alone, nothing is done twice for certain.
func TestConcealedValuesMayBeTheSame(t *testing.T) {
	for text, c := range map[string]struct {
		values         []string // of the INSERT
		found, certain bool
	}{
		"DELETE FROM users WHERE id = 7":           {[]string{"hidden a1...", "hidden b2..."}, true, false},
		"DELETE FROM users WHERE password = 'old'": {[]string{"hidden a1...", "hidden b2..."}, true, false},
		"DELETE FROM users WHERE id = 8":           {[]string{"7", "'x'"}, true, true},
	} {
		insert := func(at time.Duration) *wire.Transaction {
			x := replaced(at, 0, "INSERT INTO users(id, password) VALUES (7, 'x')")
			x.Statements[0].Values = c.values
			return x
		}
		deleted := replaced(8, 1, text)
		deleted.Place = "other"
		if strings.Contains(text, "password") {
			deleted.Statements[0].Values = []string{"hidden c3..."}
		}
		all := []*wire.Transaction{insert(1), deleted, insert(20)}
		b := baseline{steady: true}
		b.committed, b.exact = count(all[:1])
		committed, exact := count(all)
		if two, certain := b.twice(&run{all: all, moment: moment{met: 3}}, committed, exact); (two != nil) != c.found || certain != c.certain {
			t.Errorf("%s: found %v, certain %v", text, two != nil, certain)
		}
	}
}

// TestValuesOfWhichAPartWasSeen are not known to be the same: only that more was committed than untouched is.
func TestValuesOfWhichAPartWasSeen(t *testing.T) {
	for _, partial := range []bool{false, true} {
		all := []*wire.Transaction{replaced(1, 0, "INSERT INTO note(body) VALUES ('x')"), replaced(20, 0, "INSERT INTO note(body) VALUES ('x')")}
		for _, x := range all {
			x.Statements[0].Partial = partial
		}
		b := baseline{}
		b.committed, b.exact = count(all[:1])
		committed, exact := count(all)
		if two, certain := b.twice(&run{all: all, moment: moment{met: 3}}, committed, exact); two == nil || certain == partial {
			t.Errorf("partial %v: found %v, certain %v", partial, two != nil, certain)
		}
	}
}

// TestDocumentsThatAreTaken one by one, or with their collection, are inserted again without a trace.
func TestDocumentsThatAreTaken(t *testing.T) {
	for shape, want := range map[string]bool{
		"findAndModify shop.jobs query: {o: ?} remove: true": false, "findAndModify shop.jobs query: {o: ?} update: {$set: {n: ?}}": true,
		"drop shop.jobs": false, "drop shop.other": true, "dropDatabase": false,
	} {
		insert := func(at time.Duration) *wire.Transaction {
			return &wire.Transaction{Place: "abcd0123", Outcome: wire.Committed, Began: at, Ended: at + 5,
				Statements: []*wire.Statement{{Shape: "insert shop.jobs documents: [{o: ?}]", Values: []string{"7"}, Adds: true, Writes: true, Rows: 1}}}
		}
		taken := &wire.Transaction{Place: "other", Outcome: wire.Committed, Began: 7, Ended: 9, Statements: []*wire.Statement{{Shape: shape, Values: []string{"7"}, Writes: true, Rows: 1}}}
		all := []*wire.Transaction{insert(1), taken, insert(20)}
		b := baseline{steady: true}
		b.committed, b.exact = count(all[:1])
		committed, exact := count(all)
		if two, certain := b.twice(&run{all: all, moment: moment{met: 3}}, committed, exact); (two != nil) != want || certain != want {
			t.Errorf("%s: found %v, certain %v", shape, two != nil, certain)
		}
	}
}

// TestReplacedDocuments is TestReplacements of commands that are not SQL.
func TestReplacedDocuments(t *testing.T) {
	document := func(at time.Duration, deleted int64) *wire.Transaction {
		return &wire.Transaction{Place: "abcd0123", Outcome: wire.Committed, Began: at, Ended: at + 5, Statements: []*wire.Statement{
			{Shape: "delete shop.cart deletes: [{q: {o: ?}, limit: ?}]", Values: []string{"7", "0"}, Writes: true, Rows: deleted},
			{Shape: "insert shop.cart documents: [{_id: ?, o: ?}]", Values: []string{"x", "7"}, Adds: true, Writes: true, Rows: 1},
		}}
	}
	for deleted, want := range map[int64]bool{0: true, 1: false} {
		all := []*wire.Transaction{document(1, 0), document(20, deleted)}
		b := baseline{steady: true}
		b.committed, b.exact = count(all[:1])
		committed, exact := count(all)
		if two, certain := b.twice(&run{all: all, moment: moment{met: 3}}, committed, exact); (two != nil) != want || certain != want {
			t.Errorf("%d deleted: found %v, certain %v", deleted, two != nil, certain)
		}
	}
}
