package script

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"assay/store"
)

// relations maps the words of a script to texts before the value.
func relations() map[string]string {
	return map[string]string{"equals": "", "at_least": "at least ", "at_most": "at most "}
}

// expectation has bounds that must all hold.
type expectation []bound

type bound struct {
	relation string
	value    any
}

func (e expectation) String() string {
	texts := make([]string, len(e))
	for i, b := range e {
		texts[i] = relations()[b.relation] + show(b.value)
	}
	return strings.Join(texts, " and ")
}

// holds reports whether a value meets the bounds. Numbers compare by value, whatever their
// types; a boolean is 1 or 0, as databases without the type store it. Texts compare by bytes,
// and NULL meets NULL alone.
func (e expectation) holds(got any) bool {
	for _, b := range e {
		order, comparable := compare(got, b.value)
		switch {
		case !comparable, b.relation == "equals" && order != 0, b.relation == "at_least" && order < 0, b.relation == "at_most" && order > 0:
			return false
		}
	}
	return true
}

// compare orders two values; comparable is false if they have no order.
func compare(a, b any) (order int, comparable bool) {
	if a == nil || b == nil {
		return 0, a == nil && b == nil
	}
	if x, is := a.(string); is {
		y, is := b.(string)
		return strings.Compare(x, y), is
	}
	x, y := number(a), number(b)
	if x == nil || y == nil {
		return 0, false
	}
	return x.Cmp(y), true
}

// number is the exact value of a number or boolean, otherwise nil.
func number(v any) *big.Float {
	switch v := v.(type) {
	case int64:
		return new(big.Float).SetInt64(v)
	case float64:
		if v != v || v-v != 0 { // NaN and the infinities
			return nil
		}
		return big.NewFloat(v)
	case bool:
		if v {
			return big.NewFloat(1)
		}
		return new(big.Float)
	default:
		return nil
	}
}

const maxShown = 200

// show is a value for people.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		if len(v) > maxShown {
			v = v[:maxShown] + "..."
		}
		return strconv.Quote(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case store.Document, []any:
		return showTree(v)
	default:
		return fmt.Sprint(v)
	}
}

func showRow(row []any) string {
	texts := make([]string, len(row))
	for i, v := range row {
		texts[i] = show(v)
	}
	return "(" + strings.Join(texts, ", ") + ")"
}
