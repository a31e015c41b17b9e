package drivertest

import (
	"assay/store"
)

// The cases of the verbs begin with the rows of standard.

func readCases() []statementCase {
	all := standard("goods")
	ofShop := is("shop", store.Equal, 1)
	scans := []store.Capability{store.OrderedScans}
	return []statementCase{
		{name: "read by the key", steps: []step{
			ask(goods(store.Where("shop", "item")...), with(1, 2), all[1]),
			ask(goods(store.Where("item", "shop")...), with(2, 1), all[1]),
			ask(selecting("goods", "name", store.Where("shop", "item")...), with(2, 2), row("a")),
			ask(goods(store.Where("shop", "item")...), with(3, 1)),
			ask(goods(store.Where("shop", "item")...), with(1, -2)),
		}},
		{name: "read by a part of the key", needs: scans, steps: []step{
			ask(ordered(goods(ofShop), "item"), with(1), all[:3]...),
			ask(backwards(ordered(goods(ofShop), "item")), with(1), all[2], all[1], all[0]),
			ask(limited(goods(ofShop), store.Number(2), "item"), with(1), all[:2]...),
			ask(limited(goods(ofShop), store.Parameter(2), "item"), with(1, 1), all[0]),
			ask(backwards(limited(goods(ofShop), store.Parameter(2), "item")), with(1, 2), all[2], all[1]),
			ask(limited(goods(ofShop), store.Number(9), "item"), with(2), all[3:]...),
			ask(ordered(goods(ofShop), "item"), with(3)),
		}},
		{name: "read a range of keys", needs: scans, steps: []step{
			ask(ordered(goods(ofShop, is("item", store.AtLeast, 2)), "item"), with(1, 2), all[1:3]...),
			ask(ordered(goods(ofShop, is("item", store.Below, 2)), "item"), with(1, 3), all[:2]...),
			ask(limited(goods(ofShop, is("item", store.AtLeast, 2), is("item", store.Below, 3)), store.Number(1), "item"), with(1, 1, 3), all[0]),
			ask(ordered(goods(ofShop, is("item", store.AtLeast, 2)), "item"), with(1, 4)),
			ask(ordered(goods(ofShop, is("item", store.In, 2)), "item"), with(1, keys{1, 3, 7}), all[0], all[2]),
			ask(ordered(goods(), "shop", "item"), nil, all...),
		}},
		{name: "lock", needs: []store.Capability{store.Transactions}, steps: []step{
			ask(locking(selecting("account", "balance", store.Where("id")...)), with(1), row(100)),
			ask(locking(selecting("account", "balance", store.Where("id")...)), with(9)),
		}},
		{name: "count", needs: scans, steps: []step{
			ask(counting("goods", ""), nil, row(5)),
			ask(counting("goods", "price", ofShop), with(1), row(3, 50)),
			ask(counting("goods", "price item", ofShop), with(2), row(2, 35, 3)),
			ask(counting("goods", "price", ofShop), with(3), row(0, 0)),
			ask(counting("goods", "", ofShop, is("item", store.AtLeast, 2)), with(1, 2), row(2)),
		}},
		{name: "native", needs: []store.Capability{store.SQL}, steps: []step{
			ask(store.Statement{Verb: store.Native, Text: "SELECT item FROM %[1]s WHERE shop = $1 AND price > $2", Tables: []string{"goods"},
				Gives: true, Reads: true, Table: "goods"}, with(2, 7), row(2)),
		}},
	}
}

func indexCases() []statementCase {
	all := standard("goods")
	ofShop := is("shop", store.Equal, 1)
	indexed := []store.Capability{store.OrderedScans, store.Indexes}
	events := selecting("event", "id", is("moment", store.AtLeast, 1), is("moment", store.Below, 2))
	return []statementCase{
		{name: "read by an index", needs: indexed, steps: []step{
			ask(ordered(goods(ofShop, is("price", store.Equal, 2)), "item"), with(1, 20), all[1:3]...),
			ask(ordered(goods(ofShop, is("price", store.AtLeast, 2), is("price", store.Below, 3)), "price", "item"), with(1, 10, 21), all[:3]...),
			ask(backwards(limited(goods(ofShop), store.Number(1), "price")), with(2), all[4]),
			ask(goods(is("shop", store.Equal, 1), is("price", store.Equal, 2)), with(2, 10)),
		}},
		{name: "read by a condition", needs: indexed, steps: []step{
			ask(ordered(goods(is("name", store.Equal, 1)), "shop", "item"), with("a"), all[0], all[4]),
			ask(ordered(goods(is("sold", store.Equal, 1)), "shop", "item"), with(true), all[1], all[4]),
			ask(goods(is("price", store.MultipleOf, 1), is("shop", store.Equal, 2)), with(20, 1), all[1], all[2]),
			ask(goods(is("price", store.In, 1)), with(keys{5, 30, 6}), all[3], all[4]),
			ask(goods(is("price", store.Below, 1)), with(10), all[3]),
		}},
		{name: "read by an index that is divided", needs: []store.Capability{store.Indexes}, steps: []step{
			does(inserting("event", 3), with(1, 5, 2, 17, 3, 49), 3),
			ask(events, with(5, 49), row(1), row(2)),
			ask(events, with(6, 50), row(2), row(3)),
			ask(events, with(18, 49)),
		}},
		{name: "count by a condition", needs: indexed, steps: []step{
			ask(counting("goods", "price", is("name", store.Equal, 1)), with("a"), row(2, 40)),
			ask(counting("goods", "price", is("name", store.Equal, 1)), with("z"), row(0, 0)),
		}},
	}
}

func goods(where ...store.Condition) store.Statement {
	return selecting("goods", "shop item price name sold", where...)
}

func ordered(s store.Statement, columns ...string) store.Statement {
	s.Order = columns
	return s
}

func limited(s store.Statement, limit store.Expression, columns ...string) store.Statement {
	s.Order, s.Limit = columns, limit
	return s
}

func backwards(s store.Statement) store.Statement {
	s.Descending = true
	return s
}

func selecting(table, columns string, where ...store.Condition) store.Statement {
	return store.Statement{Verb: store.Read, Table: table, Columns: fields(columns), Where: where}
}

func counting(table, sums string, where ...store.Condition) store.Statement {
	return store.Statement{Verb: store.Count, Table: table, Columns: fields(sums), Where: where}
}

func locking(s store.Statement) store.Statement {
	s.Lock = true
	return s
}

func inserting(table string, rows int) store.Statement {
	return store.Statement{Verb: store.Insert, Table: table, Columns: columnsOf(table), Rows: rows}
}

func updating(table, gives string, where []store.Condition, set ...store.Assignment) store.Statement {
	return store.Statement{Verb: store.Update, Table: table, Columns: fields(gives), Where: where, Set: set}
}

func deleting(table string, where ...store.Condition) store.Statement {
	return store.Statement{Verb: store.Delete, Table: table, Where: where}
}

func insertCases() []statementCase {
	one := selecting("goods", "price name sold", store.Where("shop", "item")...)
	turned := store.Statement{Verb: store.Insert, Table: "goods", Columns: []string{"sold", "item", "shop", "name", "price"},
		Values: []store.Expression{store.Parameter(4), store.Parameter(2), store.Parameter(1), store.Parameter(3), store.Number(77)}}
	put := store.Statement{Verb: store.Put, Table: "goods", Columns: columnsOf("goods")}
	elements := selecting("listed", "elements", store.Where("id")...)
	list := store.Statement{Verb: store.Append, Table: "listed", Columns: []string{"id", "elements"}, Values: []store.Expression{store.Parameter(1), store.Parameter(2)}}
	member := selecting("member", "badge", store.Where("id")...)
	return []statementCase{
		{name: "insert", steps: []step{
			does(inserting("goods", 1), with(7, 1, 3, "x", true), 1),
			ask(one, with(7, 1), row(3, "x", true)),
			does(turned, with(7, 2, "y", false), 1),
			ask(one, with(7, 2), row(77, "y", false)),
		}},
		{name: "insert many", steps: []step{
			does(inserting("goods", 3), with(7, 1, 3, "x", true, 8, 1, 4, "y", false, 7, 2, 5, "", true), 3),
			ask(one, with(7, 1), row(3, "x", true)), ask(one, with(8, 1), row(4, "y", false)), ask(one, with(7, 2), row(5, "", true)),
		}},
		{name: "insert again", needs: []store.Capability{store.UniqueKeys}, steps: []step{
			refused(inserting("goods", 1), with(1, 2, 3, "x", true), store.Unique),
			ask(one, with(1, 2), row(20, "b", true)),
			does(deleting("goods", store.Where("shop", "item")...), with(1, 2), 1),
			does(inserting("goods", 1), with(1, 2, 3, "x", true), 1),
			ask(one, with(1, 2), row(3, "x", true)),
		}},
		{name: "insert many again", needs: []store.Capability{store.UniqueKeys, store.Transactions}, steps: []step{
			refused(inserting("goods", 2), with(1, 7, 3, "x", true, 1, 1, 3, "x", true), store.Unique),
			ask(one, with(1, 7)),
			ask(one, with(1, 1), row(10, "a", false)),
		}},
		{name: "another unique index", needs: []store.Capability{store.SecondaryUnique}, steps: []step{
			does(inserting("member", 1), with(1, 500), 1),
			refused(inserting("member", 1), with(2, 500), store.Unique),
			ask(member, with(2)), ask(member, with(1), row(500)),
		}},
		{name: "put", steps: []step{
			does(put, with(7, 1, 3, "x", true), anyNumber),
			ask(one, with(7, 1), row(3, "x", true)),
			does(put, with(7, 1, 4, "y", false), anyNumber),
			ask(one, with(7, 1), row(4, "y", false)),
		}},
		{name: "append", needs: []store.Capability{store.Lists}, steps: []step{
			ask(elements, with(1)),
			does(list, with(1, 10), anyNumber), does(list, with(1, -7), anyNumber), does(list, with(2, 1), anyNumber), does(list, with(1, 10), anyNumber),
			does(list, with(1, 1<<53+1), anyNumber),
			ask(elements, with(1), row([]int64{10, -7, 10, 1<<53 + 1})),
			ask(elements, with(2), row([]int64{1})),
			does(deleting("listed", store.Where("id")...), with(1), 1),
			ask(elements, with(1)),
			does(list, with(1, 12), anyNumber),
			ask(elements, with(1), row([]int64{12})),
		}},
		{name: "a list as a whole", needs: []store.Capability{store.Lists}, steps: []step{
			does(inserting("listed", 1), with(3, []int64{1, 2, 3}), 1),
			does(list, with(3, 4), anyNumber),
			ask(elements, with(3), row([]int64{1, 2, 3, 4})),
			does(store.Statement{Verb: store.Put, Table: "listed", Columns: []string{"id", "elements"}}, with(3, []int64{9}), anyNumber),
			ask(elements, with(3), row([]int64{9})),
		}},
		{name: "rows within others", needs: []store.Capability{store.Documents}, steps: documentSteps()},
	}
}

func documentSteps() []step {
	unordered := selecting("part", "part weight", store.Where("shop", "crate")...)
	parts := ordered(unordered, "part")
	return []step{
		does(inserting("part", 2), with(1, 2, 1, 5, 1, 2, 2, 6), 2),
		does(inserting("part", 1), with(2, 1, 1, 7), 1),
		ask(parts, with(1, 2), row(1, 5), row(2, 6)),
		ask(parts, with(2, 1), row(1, 7)),
		ask(parts, with(1, 1)),
		ask(selecting("part", "weight", store.Where("shop", "crate", "part")...), with(1, 2, 2), row(6)),
		ask(selecting("crate", "weight", store.Where("shop", "crate")...), with(1, 2), row(8)),
		does(updating("part", "", store.Where("shop", "crate"), store.Set("weight", store.Parameter(3))), with(1, 2, 0), anyNumber),
		ask(parts, with(1, 2), row(1, 0), row(2, 0)),
		ask(parts, with(2, 1), row(1, 7)),
		ask(counting("part", "weight", store.Where("shop", "crate")...), with(2, 1), row(1, 7)),
		does(inserting("crate", 1), with(3, 1, 5), 1),
		does(inserting("part", 2), with(3, 1, 1, 5, 3, 1, 2, 6), 2),
		does(updating("part", "", store.Where("shop", "crate"), store.Set("weight", store.Parameter(3))), with(2, 1, 8), anyNumber),
		does(updating("crate", "", store.Where("shop", "crate"), store.Set("weight", store.Parameter(3))), with(3, 1, 4), 1),
		ask(unordered, with(2, 1), row(1, 8)), ask(unordered, with(1, 1)), ask(unordered, with(3, 1), row(1, 5), row(2, 6)),
		ask(selecting("crate", "weight", store.Where("shop", "crate")...), with(3, 1), row(4)),
	}
}
