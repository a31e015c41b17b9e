package recorded

import (
	"slices"

	"assay/history/exchange"
)

// fails refuses one operation in ten, which then has no effect.
func (c *clients) fails(effect func() (exchange.Value, bool)) func() (exchange.Value, bool) {
	return func() (exchange.Value, bool) {
		if c.IntN(10) == 0 {
			return exchange.Value{}, false
		}
		return effect()
	}
}

func (c *clients) collection(kind string) func(int64) act {
	var last, sum, given int64
	var values []int64 // in the order in which they were put in
	add := func(word string) act {
		last++
		v := last
		return act{word, whole(v), func() (exchange.Value, bool) {
			failed := c.IntN(10) == 0
			if failed && c.strikes("failed add") || !failed && !c.strikes("lost add") {
				values = append(values, v)
			}
			return whole(v), !failed
		}}
	}
	read := act{word: "read", effect: func() (exchange.Value, bool) {
		saw := slices.Clone(values)
		if len(saw) > 0 && c.strikes("short read") {
			saw = saw[:len(saw)-1]
		}
		if len(saw) > 0 && c.strikes("doubled") {
			saw = append(saw, saw[0])
		}
		if c.strikes("invented") {
			saw = append(saw, -1)
		}
		return wholes(saw...), true
	}}
	dequeue := act{word: "dequeue", effect: func() (exchange.Value, bool) {
		if len(values) == 0 {
			return exchange.Value{}, false
		}
		v := values[0]
		if !c.strikes("doubled") {
			values = values[1:]
		}
		if c.strikes("invented") {
			v = -v
		}
		return whole(v), true
	}}
	drain := act{word: "drain", effect: func() (exchange.Value, bool) {
		all := values
		values = nil
		return wholes(all...), true
	}}
	count := act{word: "read", effect: func() (exchange.Value, bool) { return whole(sum), true }}
	generate := act{word: "generate", effect: func() (exchange.Value, bool) {
		if !c.strikes("doubled") {
			given++
		}
		return whole(given), true
	}}
	increment := func() act {
		v := c.Int64N(7) - 2
		return act{"add", whole(v), c.fails(func() (exchange.Value, bool) {
			if !c.strikes("lost add") {
				sum += v
			}
			if c.strikes("doubled") {
				sum += v
			}
			return whole(v), true
		})}
	}
	return func(int64) act {
		first := c.IntN(3) > 0
		switch kind {
		case "set":
			first = c.left > 9
			fallthrough
		case "set-full", "set-full linearizable":
			if first {
				return add("add")
			}
			return read
		case "counter":
			if first {
				return increment()
			}
			return count
		case "unique-ids":
			return generate
		}
		switch {
		case kind == "total-queue" && c.left == 0:
			return drain
		case c.IntN(2) == 0:
			return add("enqueue")
		}
		return dequeue
	}
}

// rows are single writes and reads of many, which may miss some, or inserts that should be refused.
func (c *clients) rows(kind string) func(int64) act {
	var written []int64
	var next, clock int64
	done := func(request exchange.Value, v ...int64) func() (exchange.Value, bool) {
		return c.fails(func() (exchange.Value, bool) { written = append(written, v...); return request, true })
	}
	row := func(v, at int64) exchange.Value { return mapOf(word("val"), whole(v), word("sts"), whole(at)) }
	return func(int64) act {
		v, write := next, c.IntN(2) == 0
		if write && kind != "monotonic" {
			next++
		}
		switch {
		case kind == "long-fork" && write:
			request := listOf(listOf(word("w"), whole(v), whole(1)))
			return act{"write", request, done(request, v)}
		case kind == "long-fork":
			first, request := c.Int64N(next/3+1)*3, listOf()
			for i := range int64(3) {
				request.Items = append(request.Items, listOf(word("r"), whole(first+i), exchange.Value{}))
			}
			return act{"read", request, c.fails(func() (exchange.Value, bool) {
				answer := listOf()
				for i := range int64(3) {
					value := exchange.Value{}
					if slices.Contains(written, first+i) && !c.strikes("missed") {
						value = whole(1)
					}
					answer.Items = append(answer.Items, listOf(word("r"), whole(first+i), value))
				}
				return answer, true
			})}
		case kind == "comments" && write:
			return act{"write", whole(v), done(exchange.Value{}, v)}
		case kind == "comments":
			return act{word: "read", effect: c.fails(func() (exchange.Value, bool) {
				saw := slices.Clone(written)
				if len(saw) > 1 && c.strikes("missed") {
					at := c.IntN(len(saw) - 1)
					saw = slices.Delete(saw, at, at+1)
				}
				return wholes(saw...), true
			})}
		case kind == "adya-g2":
			key := c.Int64N(20)
			return act{"insert", listOf(whole(key), listOf(whole(v), exchange.Value{})), c.fails(func() (exchange.Value, bool) {
				if slices.Contains(written, key) && !c.strikes("missed") {
					return exchange.Value{}, false
				}
				written = append(written, key)
				return exchange.Value{}, true
			})}
		case write: // monotonic
			return act{word: "add", effect: c.fails(func() (exchange.Value, bool) {
				next++
				clock += c.Int64N(3)
				written = append(written, next, clock)
				return row(next, clock), true
			})}
		}
		return act{word: "read", effect: c.fails(func() (exchange.Value, bool) {
			rows := listOf()
			for i := 0; i < len(written); i += 2 {
				if !c.strikes("missed") {
					rows.Items = append(rows.Items, row(written[i], written[i+1]))
				}
			}
			return rows, true
		})}
	}
}

// locks is one lock, which may admit a second holder or repeat a token.
func (c *clients) locks(kind string) func(int64) act {
	var holder, depth, token int64 = -1, 0, 0
	has := map[int64]int64{} // how often each process believes to hold it
	return func(process int64) act {
		if has[process] > 0 && (kind != "reentrant-mutex" || c.IntN(2) == 0) {
			return act{word: "release", effect: func() (exchange.Value, bool) {
				has[process]--
				if holder == process {
					depth--
				}
				if depth == 0 {
					holder = -1
				}
				return exchange.Value{}, true
			}}
		}
		return act{word: "acquire", effect: func() (exchange.Value, bool) {
			if holder >= 0 && (holder != process || kind != "reentrant-mutex") {
				if !c.strikes("second holder") {
					return exchange.Value{}, false
				}
				depth = 0
			}
			holder = process
			depth++
			has[process]++
			if token == 0 || !c.strikes("stale token") {
				token++
			}
			return whole(token), true
		}}
	}
}

// logs are two logs: clients send, and poll from their positions. At the end they read everything.
func (c *clients) logs() func(int64) act {
	var logs [2][]int64
	at := map[[2]int64]int{}
	send, poll := word("send"), word("poll")
	sent := func(key, offset, v int64) exchange.Value {
		return listOf(send, whole(key), listOf(whole(offset), whole(v)))
	}
	polls := func(process, own int64) exchange.Value {
		polled := mapOf()
		for key := range int64(2) {
			position := at[[2]int64{process, key}]
			if position > 0 && c.strikes("back") {
				position--
			}
			if position < len(logs[key]) && c.strikes("skip") {
				position++
			}
			list := listOf()
			for ; position < len(logs[key]); position++ {
				if v := logs[key][position]; v >= 0 && v != own {
					list.Items = append(list.Items, wholes(int64(position), v))
				}
			}
			at[[2]int64{process, key}] = position
			polled.Items = append(polled.Items, whole(key), list)
		}
		return listOf(poll, polled)
	}
	var next int64
	return func(process int64) act {
		key, v, offset := c.Int64N(2), next, int64(-1)
		next++
		request := listOf(send, whole(key), whole(v))
		put := func() {
			offset = int64(len(logs[key]))
			logs[key] = append(logs[key], v)
		}
		switch does := c.IntN(6); {
		case does < 3 && c.left > 20:
			return act{"send", listOf(request), func() (exchange.Value, bool) {
				if c.IntN(10) == 0 {
					if c.strikes("aborted") {
						put()
					}
					return exchange.Value{}, false
				}
				if put(); c.strikes("lost") {
					logs[key][offset] = -1 // a hole
				}
				if c.strikes("duplicate") {
					logs[key] = append(logs[key], v)
				}
				return listOf(sent(key, offset, v)), true
			}}
		case does == 3 && c.left > 20: // a transaction that polls and sends
			if c.strikes("uncommitted") { // others see it while the transaction runs
				put()
			}
			return act{"txn", listOf(request, listOf(poll)), func() (exchange.Value, bool) {
				polled := polls(process, v)
				if offset < 0 {
					put()
				}
				return listOf(sent(key, offset, v), polled), true
			}}
		}
		return act{"poll", listOf(listOf(poll)), func() (exchange.Value, bool) { return listOf(polls(process, -1)), true }}
	}
}

// registers are two registers, whose transactions may read the state before the last transaction.
func (c *clients) registers() func(int64) act {
	now, old := map[int64]int64{}, map[int64]int64{}
	return func(int64) act {
		request := listOf()
		for range 1 + c.IntN(2) {
			if key := c.Int64N(2); c.IntN(2) == 0 {
				request.Items = append(request.Items, listOf(word("read"), whole(key), exchange.Value{}))
			} else {
				request.Items = append(request.Items, listOf(word("write"), whole(key), whole(1+c.Int64N(2))))
			}
		}
		return act{"txn", request, c.fails(func() (exchange.Value, bool) {
			answer, from := listOf(), now
			if c.strikes("stale") {
				from = old
			}
			for _, s := range request.Items {
				key := s.Items[1].Atom.Int
				if s.Items[0].Word() == "write" {
					old[key], now[key] = now[key], s.Items[2].Atom.Int
				} else if v := from[key]; v != 0 {
					s = listOf(s.Items[0], s.Items[1], whole(v))
				}
				answer.Items = append(answer.Items, s)
			}
			return answer, true
		})}
	}
}
