package tpcc

import (
	"strings"

	"assay/store"
	"assay/workload"
	"assay/workload/definition"
)

// kept is what a saved state has of the texts of a row: hashes. The texts of a database
// would be most of it.
type kept struct {
	// told is false of a state that an earlier version has saved, which had no texts.
	told bool
	// texts is the hash of all texts but the data of a customer.
	texts int64
	// data is the hash of a customer's data behind the notes of payments; notes is the sum
	// of the hashes of these, in whatever order they are, and noted how long they are.
	data, notes, noted int64
}

func (k *kept) keep() *kept { return k }

// keeper is a row with texts.
type keeper interface{ keep() *kept }

// customerData is the column of a customer's data, in which payments of bad credit are
// noted (clause 2.5.2.2), the last one first, and of which maxData characters are kept.
const (
	customerData = "c_data"
	maxData      = 500
)

// numbers are the values that are saved; withData says that the row has customerData.
func (k *kept) numbers(withData bool) []*int64 {
	if withData {
		return []*int64{&k.texts, &k.data, &k.notes, &k.noted}
	}
	return []*int64{&k.texts}
}

// keptOf is what is kept of the texts of a row, whose columns these are.
func keptOf(names []string, fields []any) kept {
	k := kept{told: true}
	for i, field := range fields {
		text, is := field.(*string)
		switch {
		case !is:
		case names[i] == customerData:
			k.keepData(*text)
		default:
			k.texts = addText(k.texts, *text)
		}
	}
	return k
}

// keepData tells the notes from what was loaded, which has no semicolon.
func (k *kept) keepData(data string) {
	end := strings.LastIndexByte(data, ';') + 1
	for note := range strings.SplitAfterSeq(data[:end], ";") {
		k.notes += noteSum(note)
	}
	k.data, k.noted = addText(0, data[end:]), int64(end)
}

// noteSum is the hash of a note; 0 of none.
func noteSum(note string) int64 {
	if note == "" {
		return 0
	}
	return addText(0, note)
}

// addText adds a text to a hash, in which the order counts.
func addText(sum int64, text string) int64 {
	return int64(workload.Mix(uint64(sum) ^ uint64(workload.Sum(text))))
}

// differs reports whether what was read has other texts than a row that was expected.
func (k *kept) differs(want kept) bool {
	return k.told && (k.texts != want.texts || k.data != want.data || k.notes != want.notes)
}

// rowTexts is what is to be kept of the texts of a row.
func rowTexts[T any](c store.Columns[T], row *T) kept { return keptOf(c.Names, c.Fields(row)) }

// NotJudged are all columns of which something is not judged, with what.
func NotJudged() []definition.Unjudged {
	return []definition.Unjudged{{Table: "customer", Column: customerData,
		What: "of a customer with bad credit, once the notes of its payments are longer than the 500 characters that are kept"}}
}
