package script

import (
	"errors"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/store"
)

// onDocuments is a script whose transaction and setup have these statements, and more
// behind them.
func onDocuments(transaction, setup, more string) string {
	return "def setup(db):\n    db.create(\"a\")\n    " + setup + "\ndef f(tx, r):\n    " + transaction + "\ntransaction(\"f\", run = f)\n" + more
}

// TestDocumentsWithinTheSchema: what lies outside of the database, or is in it and nobody
// made, is refused where it stands, also in the stages of an aggregation.
func TestDocumentsWithinTheSchema(t *testing.T) {
	for call, want := range map[string]string{
		`tx.find("a", {"x": {"$gt": 1}}, fields = {"x": 1}, sort = {"x": -1}, limit = 3)`: "",
		`tx.update("a", {}, [{"$set": {"x": "$y"}}])`:                                     "",
		`tx.find("b")`:                                `setup makes no collection b; write db.create("b")`,
		`tx.find_one("other.a")`:                      `other.a lies outside of assay's database; leave "other." out`,
		`tx.insert("assay_mark", {"_id": 1})`:         "assay_mark is assay's own",
		`tx.delete("system.views", {})`:               "lies outside",
		`tx.delete("$cmd", {})`:                       "is no name of a collection",
		`tx.insert("a", {"x": 1})`:                    `a document has an "_id"`,
		`tx.insert("a", [])`:                          "there is no document to insert",
		`tx.update("a", {}, {"x": 1})`:                "a change has operators",
		`tx.update("a", {}, 1)`:                       "a change is a dict of operators or a pipeline, not a int",
		`tx.find("a", [])`:                            "a filter is a dict, not a list",
		`tx.find("a", {1: 2})`:                        "a field's name is a string, not a int",
		`tx.aggregate("a", {})`:                       "a pipeline is a list of dicts, not a dict",
		`tx.aggregate("a", [{"$match": {}, "x": 1}])`: "a stage of a pipeline is a dict with one key",
		`tx.aggregate("a", [{"$out": "a"}])`:          "$out writes a collection",
		`tx.aggregate("a", [{"$merge": {"into": {"db": "other", "coll": "a"}}}])`:                              "$merge writes a collection",
		`tx.aggregate("a", [{"$currentOp": {}}])`:                                                              "cannot have the stage $currentOp",
		`tx.aggregate("a", [{"$lookup": {"from": "a", "pipeline": [{"$match": {}}], "as": "x"}}])`:             "",
		`tx.aggregate("a", [{"$lookup": {"from": "b", "as": "x"}}])`:                                           "setup makes no collection b",
		`tx.aggregate("a", [{"$lookup": {"from": {"db": "other", "coll": "a"}, "as": "x"}}])`:                  "a collection outside of assay's database, {\"db\": \"other\", \"coll\": \"a\"}",
		`tx.aggregate("a", [{"$lookup": {"from": "a", "pipeline": [{"$unionWith": "b"}], "as": "x"}}])`:        "setup makes no collection b",
		`tx.aggregate("a", [{"$lookup": {"as": "x"}}])`:                                                        "$lookup names no collection",
		`tx.aggregate("a", [{"$graphLookup": {"from": "other.a"}}])`:                                           "other.a lies outside",
		`tx.aggregate("a", [{"$unionWith": {"coll": "assay_lease", "pipeline": []}}])`:                         "assay_lease is assay's own",
		`tx.aggregate("a", [{"$facet": {"x": [{"$unionWith": {"coll": "a", "pipeline": [{"$out": "a"}]}}]}}])`: "$out writes a collection",
		`tx.query("SELECT 1")`: "query is for databases that speak SQL, and this one has documents; use tx.find, tx.find_one or tx.aggregate",
		`tx.exec("DELETE x")`:  "exec is for databases that speak SQL, and this one has documents; use tx.insert, tx.update or tx.delete",
		`tx.value("SELECT 1")`: "value is for databases that speak SQL",
	} {
		config := configOf("x.star", onDocuments(call, "pass", ""))
		if wrong := runOn(t, config, Documents); want == "" && wrong != nil || want != "" && (wrong == nil || !strings.Contains(wrong.Error(), want) || wrong.Line != 5) {
			t.Errorf("%s gives %v, want %q in line 5", call, wrong, want)
		}
		config.AllowForeign = true
		if strings.Contains(want, "lies outside of") && !strings.Contains(call, "$graphLookup") {
			if wrong := runOn(t, config, Documents); wrong != nil {
				t.Errorf("%s gives %v although --allow-foreign is given", call, wrong)
			}
		}
	}
}

// runOn runs the first transaction of a script for a database of a language, and returns
// what is wrong with it.
func runOn(t *testing.T, config Config, language Language) (wrong *Error) {
	t.Helper()
	p, err := config.compile(language)
	if err == nil {
		_, err = p.rehearsed()
	}
	if err == nil {
		err = p.transactions[0].run(&call{ctx: t.Context(), tx: &fakeTransaction{}, program: p})
	}
	if err != nil && !errors.As(err, &wrong) {
		t.Fatalf("%T: %v", err, err)
	}
	return wrong
}

// TestTheOtherLanguage: what is declared and set up in the language of another database is
// refused where it stands, before anything is done, and not before the database is known.
func TestTheOtherLanguage(t *testing.T) {
	for text, c := range map[string]struct {
		language Language
		want     string
	}{
		onDocuments("pass", "pass", ""): {SQL, `x.star:2:14: db.create is for databases of documents, and this one speaks SQL; use db.exec("CREATE TABLE ...")`},
		declared("def setup(db):\n    db.insert(\"a\", documents = [{\"_id\": 1}])\n"):                       {SQL, "x.star:5:14: db.insert without columns is for databases of documents"},
		declared("def setup(db):\n    db.exec(\"CREATE TABLE a (b int)\")\n"):                                {Documents, "x.star:5:12: db.exec is for databases that speak SQL, and this one has documents; use db.create"},
		declared("def setup(db):\n    db.insert(\"a\", columns = [\"b\"], rows = [(1,)])\n"):                 {Documents, "x.star:5:14: db.insert with columns is for databases that speak SQL"},
		declared("invariant(\"i\", \"SELECT 1\", equals = 1)\n"):                                             {Documents, "x.star:4:10: invariant \"i\": a query in SQL is for databases that speak SQL, and this one has documents; use aggregate(collection, pipeline)"},
		declared("invariant(\"i\", aggregate(\"a\", [{\"$count\": \"n\"}]), equals = 1)\n"):                  {SQL, "x.star:4:10: invariant \"i\": aggregate is for databases of documents, and this one speaks SQL; use a query in SQL"},
		onDocuments("tx.find(\"a\")", "db.index(\"a\", {\"x\": 1}, unique = True)", "counted(\"a\", \"f\")"): {Documents, ""},
		onDocuments("pass", "pass", "counted(\"b\", \"f\")\n"):                                               {Documents, "x.star:7:8: setup makes no collection b"},
		onDocuments("pass", "pass", "invariant(\"i\", aggregate(\"b\", []), empty = True)\n"):                {Documents, "x.star:7:10: setup makes no collection b"},
		onDocuments("pass", "db.index(\"b\", {\"x\": 1})", ""):                                               {Documents, "x.star:3:13: setup has made no collection b"},
		onDocuments("pass", "db.insert(\"c\", documents = [{\"x\": 1}])", ""):                                {Documents, "x.star:3:14: a document has an \"_id\""},
		onDocuments("pass", "db.create(\"other.a\")", ""):                                                    {Documents, "x.star:3:14: \"other.a\" is no name of a collection"},
	} {
		config := configOf("x.star", text)
		p, err := config.compile(c.language)
		if err == nil {
			_, err = p.rehearsed()
		}
		var wrong *Error
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &wrong) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q gives %v, want %q", text, err, c.want)
		}
		if strings.Contains(c.want, "is for databases") {
			if err := config.Validate(); err != nil {
				t.Errorf("%q, of a database that is not known: %v", text, err)
			}
		}
	}
	_, err := configOf("x.sql", "SELECT 1;").compile(Documents)
	if err == nil || !strings.Contains(err.Error(), "x.sql:1:1: a script in pgbench's language is for databases that speak SQL") {
		t.Error(err)
	}
}

// TestShardedByID: what a sharded collection cannot do is refused where it stands.
func TestShardedByID(t *testing.T) {
	for text, want := range map[string]string{
		onDocuments("pass", `db.index("a", {"x": 1}, unique = True)`, ""):                                 "x.star:3:13: a collection sharded by _id has no unique index on other fields",
		onDocuments("pass", `db.index("a", {"_id": 1}, unique = True)`, ""):                               "",
		onDocuments("pass", `db.index("a", {"x": 1})`, ""):                                                "",
		onDocuments(`tx.update("a", {"x": 1}, {"$set": {"y": 1}}, one = True)`, "pass", ""):               `x.star:5:14: in a collection sharded by _id one document is changed, and an upsert made, by its _id alone; add it to the filter {"x": 1}`,
		onDocuments(`tx.update("a", {"_id": {"$gt": 1}}, {"$set": {"y": 1}}, upsert = True)`, "pass", ""): "by its _id alone",
		onDocuments(`tx.delete("a", {"x": 1}, one = True)`, "pass", ""):                                   "x.star:5:14: in a collection sharded by _id",
		onDocuments(`tx.delete("a", {"x": 1})`, "pass", ""):                                               "",
		onDocuments(`tx.update("a", {"_id": {"of": 1}}, {"$set": {"y": 1}}, upsert = True)`, "pass", ""):  "",
		onDocuments(`tx.update("a", {"x": 2, "_id": 1}, {"$set": {"y": 1}}, one = True)`, "pass", ""):     "",
	} {
		for _, sharded := range []bool{true, false} {
			p, err := configOf("x.star", text).compile(Documents)
			expect.NoError(t, err)
			p.statements.sharded = sharded
			_, err = p.rehearsed()
			if err == nil {
				err = p.transactions[0].run(&call{ctx: t.Context(), tx: &fakeTransaction{}, program: p})
			}
			if refused := sharded && want != ""; refused != (err != nil) || refused && !strings.Contains(err.Error(), want) {
				t.Errorf("%q, sharded %v, gives %v, want %q", text, sharded, err, want)
			}
		}
	}
}

// TestAnswersOfDocuments: a document is a row of its fields, without the _id of a group of
// all, and a count of no document is 0.
func TestAnswersOfDocuments(t *testing.T) {
	query := Statement{Command: &DocumentCommand{Verb: Aggregate}, Reads: true}
	for want, of := range map[string]store.Document{
		"(5)":                          documentWith("_id", nil, "sum", int64(5)),
		`(3, "x")`:                     documentWith("_id", int64(3), "name", "x"),
		`("[1, {\"b\": null}]", "{}")`: documentWith("a", []any{int64(1), documentWith("b", nil)}, "c", store.Document{}),
	} {
		a, err := ask(t.Context(), &fakeTransaction{answers: [][][]any{{{of}}}}, query)
		if err != nil || a.Count != 1 || showRow(a.Rows[0]) != want {
			t.Errorf("%v gives %+v, %v; want %s", of, a, err, want)
		}
	}
	count := rowCount{declaration: declaration{query: query}}
	a, err := count.ask(t.Context(), &fakeTransaction{})
	if v, single := a.value(); err != nil || !single || v != any(int64(0)) {
		t.Errorf("a count of nothing: %+v, %v", a, err)
	}
	if got := (Statement{Command: &DocumentCommand{Verb: Update, Collection: "a", Filter: documentWith("_id", int64(1)), Change: documentWith("$inc", documentWith("n", int64(1)))}}).String(); got != `"update a {"_id": 1} {"$inc": {"n": 1}}"` {
		t.Error(got)
	}
}
