package tpcc

import "assay/workload/definition"

// stateRows has each row's numbers and hashes of its texts; a row's kind is its table. The form of
// earlier versions has no texts, and clock dates.
func stateRows() definition.RowFile {
	f := definition.RowFile{Magic: "ASSAYT02", First: 2, End: 12}
	former := definition.RowFile{Magic: "ASSAYT01", First: 1, End: 11}
	for _, t := range tables() {
		l := newLine(t)
		f.Columns, former.Columns = append(f.Columns, len(l.values)), append(former.Columns, l.own)
	}
	f.Former = &former
	return f
}

// save saves the rows that all gives, except the isolation tests'; see definition.RowFile.Save.
func save(path string, read func(rows int64), all func(use func(row) error) error) error {
	known, values := tables(), make([]int64, 0, 16)
	return stateRows().Save(path, read, func(w *definition.RowWriter) error {
		return all(func(r row) error {
			fields := r.fields()
			if known[r.table()].ofTest(fields) {
				return nil
			}
			if row, has := r.(keeper); has {
				*row.keep() = keptOf(r, fields)
			}
			values := values[:0]
			for _, field := range savedFields(r, fields) {
				values = append(values, *field)
			}
			return w.Put(r.table(), values...)
		})
	})
}

// savedFields are the numbers of a row, and behind them those kept of its texts.
func savedFields(r row, fields []any) (all []*int64) {
	for _, field := range fields {
		if number, is := field.(*int64); is {
			all = append(all, number)
		}
	}
	if row, has := r.(keeper); has {
		_, customer := r.(*Customer)
		all = append(all, row.keep().numbers(customer)...)
	}
	return all
}

// line is a row that is filled with saved values.
type line struct {
	row    row
	texts  *kept // nil if the row has none
	own    int   // numbers of the row itself
	values []*int64
}

func newLine(t table) (l line) {
	l.row = t.new()
	l.own = len(t.columns) - len(t.lengths)
	l.values = savedFields(l.row, l.row.fields())
	if row, has := l.row.(keeper); has {
		l.texts = row.keep()
	}
	return l
}

// replay gives the saved rows, with hashes in place of texts; see definition.RowFile.Replay. A row
// is valid until the callback returns.
func replay(path string, use func(row) error) error {
	var lines []line
	for _, t := range tables() {
		lines = append(lines, newLine(t))
	}
	return stateRows().Replay(path, func(table int, values []int64) error {
		l := &lines[table]
		for i, v := range values {
			*l.values[i] = v
		}
		if l.texts != nil {
			l.texts.told = len(values) > l.own
		}
		return use(l.row)
	})
}
