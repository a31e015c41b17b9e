package tpcc

import (
	"strings"

	"assay/workload"
	"assay/workload/definition"
)

// kept is what a saved state has of a row's texts: hashes, since texts are most of a database.
type kept struct {
	// told is false for a state of an earlier version, without hashes.
	told bool
	// texts hashes all texts except a customer's data.
	texts int64
	// data hashes a customer's loaded data. notes sums hashes of the payments' notes, and noted
	// is their length.
	data, notes, noted int64
}

func (k *kept) keep() *kept { return k }

type keeper interface{ keep() *kept }

// customerData has notes of payments of bad credit (clause 2.5.2.2), the latest first, cut to
// maxData.
const (
	customerData = "c_data"
	maxData      = 500
)

// numbers are the saved values; withData says that the row has customerData.
func (k *kept) numbers(withData bool) []*int64 {
	if withData {
		return []*int64{&k.texts, &k.data, &k.notes, &k.noted}
	}
	return []*int64{&k.texts}
}

// keptOf is of a row with these fields.
func keptOf(r row, fields []any) kept {
	k := kept{told: true}
	customer, _ := r.(*Customer)
	for _, field := range fields {
		text, is := field.(*string)
		switch {
		case !is:
		case customer != nil && text == &customer.Data:
			k.keepData(*text)
		default:
			k.texts = addText(k.texts, *text)
		}
	}
	return k
}

// keepData separates the notes from the loaded data, which has no semicolon.
func (k *kept) keepData(data string) {
	end := strings.LastIndexByte(data, ';') + 1
	for note := range strings.SplitAfterSeq(data[:end], ";") {
		k.notes += noteSum(note)
	}
	k.data, k.noted = addText(0, data[end:]), int64(end)
}

func noteSum(note string) int64 {
	if note == "" {
		return 0
	}
	return addText(0, note)
}

// addText hashes in order.
func addText(sum int64, text string) int64 {
	return int64(workload.Mix(uint64(sum) ^ uint64(workload.Sum(text))))
}

func (k *kept) differs(want kept) bool {
	return k.told && (k.texts != want.texts || k.data != want.data || k.notes != want.notes)
}

func rowTexts(r row) kept { return keptOf(r, r.fields()) }

// NotJudged lists the columns that are judged in part.
func NotJudged() []definition.Unjudged {
	return []definition.Unjudged{{Table: "customer", Column: customerData,
		What: "of a customer with bad credit, once the notes of its payments are longer than the 500 characters that are kept"}}
}
