package drivertest

import (
	"math"
	"strings"

	"assay/store"
)

func updateCases() []statementCase {
	one := selecting("goods", "price name sold", store.Where("shop", "item")...)
	balance := selecting("account", "balance version", store.Where("id")...)
	keyed := store.Where("shop", "item")
	byID := store.Where("id")
	transactions := []store.Capability{store.Transactions}
	add := updating("account", "", byID, store.Add("balance", store.Parameter(2)))
	return []statementCase{
		{name: "update by the key", steps: []step{
			does(updating("goods", "", keyed, store.Set("price", store.Parameter(3)), store.Set("name", store.Parameter(4))), with(1, 2, 7, "é"), 1),
			ask(one, with(1, 2), row(7, "é", true)),
			does(updating("goods", "", keyed, store.Set("price", store.Number(-1)), store.Set("sold", store.Parameter(3))), with(1, 2, false), 1),
			ask(one, with(1, 2), row(-1, "é", false)),
			ask(one, with(1, 1), row(10, "a", false)), ask(one, with(2, 2), row(30, "a", true)),
		}},
		{name: "update of nothing", needs: []store.Capability{store.UniqueKeys}, steps: []step{
			does(updating("goods", "", keyed, store.Set("price", store.Parameter(3))), with(1, 9, 7), 0),
			ask(one, with(1, 9)),
		}},
		{name: "update to the same", needs: transactions, steps: []step{
			does(updating("goods", "", keyed, store.Set("price", store.Number(20))), with(1, 2), anyNumber),
			ask(one, with(1, 2), row(20, "b", true)),
		}},
		{name: "update adds", needs: transactions, steps: []step{
			does(add, with(1, 5), 1), does(add, with(1, -30), 1),
			does(updating("account", "", byID, store.Add("balance", store.Number(2)), store.Add("version", store.Number(1))), with(1), 1),
			ask(balance, with(1), row(77, 1)),
			does(add, with(9, 5), 0),
		}},
		{name: "update sees the row as it was", needs: transactions, steps: []step{
			ask(updating("account", "version balance", byID, store.Set("version", store.Old("balance")), store.Add("balance", store.Parameter(2))),
				with(1, 11), row(100, 111)),
			ask(updating("account", "version", byID, store.Add("version", store.Old("balance"))), with(1), row(211)),
			ask(balance, with(1), row(111, 211)),
		}},
		{name: "update gives", needs: transactions, steps: []step{
			ask(updating("account", "balance id version", byID, store.Add("balance", store.Parameter(2)), store.Add("version", store.Number(1))),
				with(2, -50), row(0, 2, 1)),
			ask(updating("account", "balance", byID, store.Add("balance", store.Parameter(2))), with(9, 1)),
		}},
		{name: "floor", needs: transactions, steps: []step{
			refused(add, with(2, -51), store.Floor),
			does(add, with(2, -50), 1),
			refused(add, with(2, -1), store.Floor),
			refused(updating("account", "", byID, store.Set("balance", store.Parameter(2))), with(1, -1), store.Floor),
			ask(balance, with(1), row(100, 0)), ask(balance, with(2), row(0, 0)),
		}},
	}
}

func setCases() []statementCase {
	sets := []store.Capability{store.Sets, store.OrderedScans}
	one := selecting("goods", "price name sold", store.Where("shop", "item")...)
	stock := ordered(selecting("goods", "item price name", is("shop", store.Equal, 1)), "item")
	keyed := store.Where("shop", "item")
	return []statementCase{
		{name: "update by a condition", needs: sets, steps: []step{
			does(updating("goods", "", []store.Condition{is("shop", store.Equal, 1)}, store.Set("price", store.Parameter(2))), with(1, 3), 3),
			ask(stock, with(1), row(1, 3, "a"), row(2, 3, "b"), row(3, 3, "c")),
			does(updating("goods", "", []store.Condition{is("name", store.Equal, 1)}, store.Set("price", store.Number(4))), with("a"), 2),
			ask(stock, with(1), row(1, 4, "a"), row(2, 3, "b"), row(3, 3, "c")),
			ask(stock, with(2), row(1, 5, "d"), row(2, 4, "a")),
			does(updating("goods", "", []store.Condition{is("name", store.Equal, 1)}, store.Set("price", store.Number(4))), with("z"), 0),
			does(updating("goods", "", []store.Condition{is("shop", store.Equal, 1), is("item", store.AtLeast, 2)}, store.Add("price", store.Number(1))), with(1, 2), 2),
			ask(stock, with(1), row(1, 4, "a"), row(2, 4, "b"), row(3, 4, "c")),
			does(updating("goods", "", []store.Condition{is("item", store.MultipleOf, 1)}, store.Set("price", store.Parameter(2))), with(2, 9), 2),
			ask(stock, with(1), row(1, 4, "a"), row(2, 9, "b"), row(3, 4, "c")),
		}},
		{name: "delete", steps: []step{
			does(deleting("goods", keyed...), with(1, 2), 1),
			ask(one, with(1, 2)), ask(one, with(1, 1), row(10, "a", false)),
			does(deleting("goods", keyed...), with(1, 2), 0),
		}},
		{name: "delete by a condition", needs: sets, steps: []step{
			does(deleting("goods", is("price", store.Equal, 1)), with(20), 2),
			ask(stock, with(1), row(1, 10, "a")),
			does(deleting("goods", is("shop", store.Equal, 1), is("item", store.In, 2)), with(2, keys{1, 5}), 1),
			ask(stock, with(2), row(2, 30, "a")),
			does(deleting("goods", is("price", store.AtLeast, 1), is("price", store.Below, 2)), with(11, 31), 1),
			does(deleting("goods"), nil, 1),
			ask(counting("goods", ""), nil, row(0)),
		}},
	}
}

// typeCases has values that a careless driver spoils: integers beyond the precision of a
// float64, texts with special characters, texts of the greatest length.
func typeCases() []statementCase {
	everything := selecting("typed", "id small yes content code", store.Where("id")...)
	scans := []store.Capability{store.OrderedScans}
	numbers := []int64{0, -1, 1<<53 + 1, math.MinInt64, math.MaxInt64, -1 << 31}
	texts := []string{`' " and \ and $1 ? :x %s {}`, "Žluťoučký 馬 🐎", " spaces at the ends ", "two\nlines\tand a tab", "<b>&amp;</b>", ""}
	var values, words, titles, tags []step
	for i, n := range numbers {
		small := []int{0, -1, math.MaxInt32, math.MinInt32, 7, 1 << 30}[i]
		content, code := texts[i], []string{`$1 '"\`, "", strings.Repeat("d", 60), " a ", "%s", "Null"}[i]
		if content == "" {
			content = strings.Repeat("Ж", 200)
		}
		values = append(values, does(inserting("typed", 1), with(n, small, i%2 == 0, content, code), 1),
			ask(everything, with(n), row(n, small, i%2 == 0, content, code)))
	}
	for i, word := range []string{"b", "B", `it's "\ %_`, "a b", "aa", strings.Repeat("z", 40)} {
		words = append(words, does(inserting("worded", 1), with(word, i), 1), ask(selecting("worded", "word n", store.Where("word")...), with(word), row(word, i)))
	}
	words = append(words, ask(selecting("worded", "n", store.Where("word")...), with("A")))
	for i, title := range []string{"Žluťoučký 🐎", `'"\`, "b"} {
		titles = append(titles, does(inserting("titled", 1), with(title, i), 1), ask(selecting("titled", "title n", store.Where("title")...), with(title), row(title, i)))
	}
	for i := range 3 {
		tag := []byte{byte(255 * (i % 2)), 0, '\'', '\\', 0x80 | byte(i), 1, 0x70, 3, 0x80, 0, 255, 254, 10, 13, 0, byte(i)}
		tags = append(tags, does(inserting("tagged", 1), with(tag, i), 1), ask(selecting("tagged", "tag n", store.Where("tag")...), with(tag), row(tag, i)))
	}
	byWord := limited(selecting("worded", "word", is("word", store.AtLeast, 1)), store.Parameter(2), "word")
	byID := limited(selecting("typed", "id", is("id", store.AtLeast, 1)), store.Parameter(2), "id")
	scan := []step{ask(byWord, with("A", 10))}
	for i, word := range []string{"a", "B", "aa", "C", "Ab"} {
		scan = append(scan, does(inserting("worded", 1), with(word, i), 1))
	}
	scan = append(scan, ask(byWord, with("Aa", 4), row("Ab"), row("B"), row("C"), row("a")), ask(byWord, with("a", 9), row("a"), row("aa")), ask(byWord, with("ab", 9)))
	for _, n := range numbers {
		scan = append(scan, does(inserting("typed", 1), with(n, 0, true, "", ""), 1))
	}
	scan = append(scan, ask(byID, with(math.MinInt64, 9), row(math.MinInt64), row(-1<<31), row(-1), row(0), row(1<<53+1), row(math.MaxInt64)),
		ask(byID, with(-1, 2), row(-1), row(0)), ask(byID, with(1<<53+2, 2), row(math.MaxInt64)))
	return []statementCase{
		{name: "values", steps: values}, {name: "keys of bytes", steps: words}, {name: "keys of text", steps: titles}, {name: "keys of sixteen bytes", steps: tags},
		{name: "order of keys", needs: scans, steps: scan},
	}
}
