package mongodb

import (
	"regexp"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/application/wire"
	"assay/internal/expect"
)

// TestAdding: an update adds if it gives another value each time that it is done, since it computes a field
// from itself.
func TestAdding(t *testing.T) {
	for text, want := range map[string]bool{
		`{$inc: {n: 1}}`:  true,
		`{$mul: {n: 2}}`:  true,
		`{$push: {n: 2}}`: true,
		`{$set: {n: 2}}`:  false,
		`[{$set: {total: {$add: ["$net", "$tax"]}, changed: "$$NOW"}}]`:                                                                        false,
		`[{$set: {n: {$add: ["$n", 1]}}}]`:                                                                                                     true,
		`[{$set: {m: 1}}, {$addFields: {n: {$subtract: ["$$ROOT.n", 1]}}}]`:                                                                    true,
		`[{$set: {n: {$add: [1, {$multiply: ["$m", {$ifNull: ["$n", 0]}]}]}}}]`:                                                                true,
		`[{$set: {"a.n": {$add: ["$a.n", 1]}}}]`:                                                                                               true,
		`[{$set: {a: {n: {$add: ["$a.n", 1]}}}}]`:                                                                                              true,
		`[{$set: {a: {total: {$add: ["$a.net", "$a.tax"]}}}}]`:                                                                                 false,
		`[{$set: {n: {$cond: {if: {$gt: ["$n", 5]}, then: {$add: ["$n", 1]}, else: 0}}}}]`:                                                     true,
		`[{$set: {n: {$cond: [{$gt: ["$n", 5]}, {$add: ["$a", "$b"]}, "$n"]}}}]`:                                                               false,
		`[{$set: {until: {$cond: [{$lt: ["$until", "$$NOW"]}, {$add: ["$$NOW", 60000]}, "$until"]}}}]`:                                         false,
		`[{$set: {until: {$cond: [{$gt: [{$subtract: ["$$NOW", "$until"]}, 0]}, "$$NOW", "$until"]}}}]`:                                        false,
		`[{$set: {log: {$concatArrays: ["$log", ["done"]]}}}]`:                                                                                 true,
		`[{$set: {log: {$concatArrays: [{$literal: ["$log"]}, ["done"]]}}}]`:                                                                   false,
		`[{$set: {name: {$concat: ["$first", " ", "$last"]}}}]`:                                                                                false,
		`[{$replaceWith: {$mergeObjects: ["$$ROOT", {n: {$add: ["$n", 1]}}]}}]`:                                                                true,
		`[{$replaceRoot: {newRoot: {n: {$add: ["$n", 1]}}}}]`:                                                                                  true,
		`[{$set: {n: {$let: {vars: {was: "$n"}, in: {$add: ["$$was", 1]}}}}}]`:                                                                 true,
		`[{$set: {items: {$map: {input: "$items", in: {$mergeObjects: ["$$this", {pieces: {$add: ["$$this.pieces", 1]}}]}}}}}]`:                true,
		`[{$set: {items: {$map: {input: "$items", in: {$mergeObjects: ["$$this", {sum: {$multiply: ["$$this.price", "$$this.pieces"]}}]}}}}}]`: false,
		`[{$set: {sum: {$reduce: {input: "$items", initialValue: 0, in: {$add: ["$$value", "$$this.price"]}}}}}]`:                              false,
	} {
		for _, command := range []string{
			`{update: "sale", updates: [{q: {order: 7}, u: ` + text + `, multi: true}], $db: "shop"}`,
			`{findAndModify: "sale", query: {order: 7}, update: ` + text + `, $db: "shop"}`,
			`{bulkWrite: 1, ops: [{update: 0, filter: {order: 7}, updateMods: ` + text + `}], $db: "admin"}`,
		} {
			if got := adds(t, command, nil); got != want {
				t.Errorf("%s: %v", command, got)
			}
		}
		sent := []list{{"updates", document(t, `{q: {order: 7}, u: `+text+`}`)}}
		if got := adds(t, `{update: "sale", $db: "shop"}`, sent); got != want {
			t.Errorf("%s beside the command: %v", text, got)
		}
	}
	for command, want := range map[string]bool{
		`{update: "sale", updates: [{q: {$expr: {$gt: [{$add: ["$n", 1]}, 3]}}, u: {$set: {n: 1}}}], $db: "shop"}`: false,
		`{insert: "sale", documents: [{order: 7}], $db: "shop"}`:                                                   true,
		`{aggregate: "sale", pipeline: [{$set: {n: {$add: ["$n", 1]}}}], $db: "shop"}`:                             false,
	} {
		if got := adds(t, command, nil); got != want {
			t.Errorf("%s: %v", command, got)
		}
	}
}

func adds(t *testing.T, command string, beside []list) bool {
	t.Helper()
	r := &wire.Request{}
	enter(r, document(t, command), beside)
	return r.Statements[0].Adds
}

// document reads one as people write it, with names that stand for themselves.
func document(t *testing.T, text string) []byte {
	t.Helper()
	var d bson.D
	quoted := regexp.MustCompile(`([{,] *)([$A-Za-z]+):`).ReplaceAllString(text, `$1"$2":`)
	expect.NoError(t, bson.UnmarshalExtJSON([]byte(quoted), false, &d))
	b, err := bson.Marshal(d)
	expect.NoError(t, err)
	return b
}
