package script

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"assay/check"
	"assay/history"
	"assay/store"
)

// rowList declares that every operation that took effect left rows with its own identifiers, as
// many as each says, and that there are no others.
type rowList struct {
	declaration
	transaction, column string
	each                int64
}

func (p *program) addList(l rowList) error {
	if l.name == "" || len(l.name) > 60 || l.column == "" || len(l.column) > 60 {
		return errors.New("a list has a name and a column of 1 to 60 characters")
	}
	if l.each < 1 || l.each > 1<<idBits {
		return fmt.Errorf("listed %q: each is 1 to %d", l.name, 1<<idBits)
	}
	p.lists = append(p.lists, l)
	return p.takes("listed", &p.lists[len(p.lists)-1].declaration, l.column, documentWith("$project", documentWith("_id", int64(0), "id", "$"+l.column)))
}

// ids gives the rows' identifiers; known is false for a value that is none.
func (l *rowList) ids(ctx context.Context, q Querier, use func(id int64, known bool) error) error {
	return q.Query(ctx, l.query, func(row []any) error {
		if l.query.Command != nil && len(row) == 1 {
			if d, is := row[0].(store.Document); is {
				row = columnsOf(d)
			}
		}
		if len(row) != 1 {
			return fmt.Errorf("listed %q: the query gives %d columns, and one with the identifiers is wanted", l.name, len(row))
		}
		id, known := row[0].(int64)
		if text, is := row[0].(string); is {
			var err error
			id, err = strconv.ParseInt(text, 10, 64)
			known = err == nil
		}
		return use(id, known)
	})
}

// none refuses rows before the first transaction.
func (l *rowList) none(ctx context.Context, q Querier, path string) error {
	rows := int64(0)
	err := l.ids(ctx, q, func(int64, bool) error { rows++; return nil })
	if err != nil {
		return &Error{File: path, Reason: fmt.Sprintf("listed %q: %v", l.name, err), Err: err}
	}
	if rows > 0 {
		return &Error{File: path, Reason: fmt.Sprintf("listed %q: %s there before any transaction", l.name, check.Counted(rows, "row is", "rows are")),
			Advice: "give a query that leaves out what setup makes"}
	}
	return nil
}

// A record has the list's number and an identifier; the number alone if the value is none.
const (
	fileLists        = "lists.bin"
	listsMagic       = "ASSAYI01"
	tagListed   byte = 1
	tagNoNumber byte = 2
	tagListEnd  byte = 3
)

func (p *program) saveLists(ctx context.Context, q Querier, folder string) error {
	if len(p.lists) == 0 {
		return nil
	}
	return history.SaveRecords(filepath.Join(folder, fileLists), listsMagic, func() {}, func(w *history.RecordWriter) error {
		for i := range p.lists {
			err := p.lists[i].ids(ctx, q, func(id int64, known bool) error {
				if !known {
					return w.Put(tagNoNumber, int64(i))
				}
				return w.Put(tagListed, int64(i), id)
			})
			if err != nil {
				return err
			}
		}
		return w.Put(tagListEnd)
	})
}

type listed struct {
	operations map[int64]*listedOperation
	rows       int64
	found      check.Result
}

// listedOperation counts effects and rows; calls has the calls of id() seen in rows, as bits.
type listedOperation struct {
	certain, possible, rows int64
	calls                   uint64
}

func (j *judge) list(kind, client int, seq uint64, certain, possible int64) {
	for i := range j.program.lists {
		if j.program.transactions[kind].name != j.program.lists[i].transaction || certain+possible == 0 {
			continue
		}
		if j.lists[i].operations == nil {
			j.lists[i].operations = map[int64]*listedOperation{}
		}
		j.lists[i].operations[firstID(client, seq)] = &listedOperation{certain: certain, possible: possible}
	}
}

// readLists compares identifiers with operations.
func (j *judge) readLists() (why string, err error) {
	if len(j.program.lists) == 0 {
		return "", nil
	}
	malformed := errors.New("a row of a list that cannot be read")
	why, err = history.WhyMissing(history.ReplayRecords(filepath.Join(filepath.Dir(j.evidence.State), fileLists), listsMagic,
		func(tag byte, r *history.RecordReader) error {
			var values [2]int64
			switch {
			case tag == tagListed && r.Ints(values[:]) && values[0] >= 0 && values[0] < int64(len(j.lists)):
				j.listedRow(int(values[0]), values[1])
			case tag == tagNoNumber && r.Ints(values[:1]) && values[0] >= 0 && values[0] < int64(len(j.lists)):
				l := &j.lists[values[0]]
				l.rows++
				l.found.Add(check.Evidence{Kind: "foreign", Text: j.program.lists[values[0]].name + " has a row whose identifier is no number"})
			case tag == tagListEnd:
				r.Whole()
			default:
				return r.Malformed(malformed.Error())
			}
			return nil
		}))
	return why, err
}

func (j *judge) listedRow(list int, id int64) {
	l, name := &j.lists[list], j.program.lists[list].name
	l.rows++
	call := uint64(id-1) & (1<<idBits - 1)
	o := l.operations[id-int64(call)]
	if o == nil || id < 1 {
		l.found.Add(check.Evidence{Kind: "foreign", Text: fmt.Sprintf("%s has a row with the identifier %d, and %s", name, id, owner(id, j.program.lists[list].transaction)),
			Fields: map[string]int64{"id": id}})
		return
	}
	if o.rows++; o.calls&(1<<call) != 0 && o.certain+o.possible == 1 {
		l.found.Add(check.Evidence{Kind: "doubled", Text: fmt.Sprintf("%s has more than one row with the identifier %d, of %s", name, id, operationOf(id)),
			Fields: map[string]int64{"id": id}})
	}
	o.calls |= 1 << call
}

// operationOf names an identifier's operation.
func operationOf(id int64) string {
	client, seq := (id-1)>>idBits&(1<<clientBits-1), (id-1)>>(idBits+clientBits)
	return fmt.Sprintf("operation %d of client %d", seq, client)
}

func owner(id int64, transaction string) string {
	if id < 1 {
		return "no operation can have it"
	}
	return fmt.Sprintf("%s is no %s that took effect", operationOf(id), transaction)
}

// listedResult compares all lists with what was acknowledged.
func (j *judge) listedResult(missing string) check.Result {
	r, subjects := check.Result{Name: CheckListed}, int64(0)
	for i := range j.program.lists {
		of, l := &j.program.lists[i], &j.lists[i]
		if r.Detail != "" {
			r.Detail += "; "
		}
		r.Detail += fmt.Sprintf("%s has %s, compared with %s of %s", of.name, check.Counted(l.rows, "row", "rows"),
			check.Counted(int64(len(l.operations)), "operation", "operations"), of.transaction)
		for _, f := range l.found.Findings {
			r.AddUnlisted(f.Kind, f.Found)
		}
		r.Evidence = append(r.Evidence, l.found.Evidence[:min(len(l.found.Evidence), check.MaxEvidence-len(r.Evidence))]...)
		if missing != "" {
			continue
		}
		kind, _ := j.program.kind(of.transaction)
		torn := func(rows int64) bool { return j.program.transactions[kind].torn(rows, 0, of.each) }
		var ids []int64
		for id, o := range l.operations {
			subjects += o.certain + o.rows
			if o.rows < of.each*o.certain || o.rows > of.each*(o.certain+o.possible) || torn(o.rows) {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		for _, id := range ids {
			o, kind := l.operations[id], kindHalf
			switch {
			case o.rows < of.each*o.certain:
				kind = "lost"
			case o.rows > of.each*(o.certain+o.possible):
				kind = "surplus"
			}
			r.Add(check.Evidence{Kind: kind, Text: fmt.Sprintf("%s has %s of %s, which took effect %d times for certain and %d more at most, with %s each",
				of.name, check.Counted(o.rows, "row", "rows"), operationOf(id), o.certain, o.possible, check.Counted(of.each, "row", "rows")),
				Fields: map[string]int64{"id": id, "rows": o.rows, "certain": o.certain, "possible": o.possible}})
		}
	}
	if r.Found == 0 && missing == "" {
		r.Detail += ": each with the rows of its own, and none with another's"
	}
	r.Finish(missing, subjects == 0, "no transaction that is listed was committed")
	return r
}
