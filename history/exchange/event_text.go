package exchange

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// eventText writes events as EDN or JSON, which differ in separators and in keywords.
type eventText struct {
	edn bool
	buf []byte
}

func (t *eventText) event(op *Operation, kind eventType, index, time int64) {
	t.raw("{")
	t.field("index", true)
	t.number(index)
	if time != NoTime {
		t.field("time", false)
		t.number(time)
	}
	t.field("type", false)
	t.word(kind.String())
	t.field("process", false)
	t.number(op.Process)
	t.field("f", false)
	if op.Function == Other {
		t.word(op.Word)
	} else {
		t.word(op.Function.String())
	}
	t.field("value", false)
	if kind != invoked && !op.Told.IsNil() {
		t.anyValue(&op.Told)
	} else {
		t.value(op, kind == acknowledged)
	}
	t.raw("}\n")
}

// value writes the request of an operation, or with answered its answer. An independent key and
// the value are written as a pair.
func (t *eventText) value(op *Operation, answered bool) {
	if !op.Keyed {
		t.valueOfKey(op, answered)
		return
	}
	t.raw("[")
	t.atom(op.Key)
	t.next()
	t.valueOfKey(op, answered)
	t.raw("]")
}

func (t *eventText) valueOfKey(op *Operation, answered bool) {
	switch op.Function {
	case Other:
		if answered {
			t.anyValue(&op.Answer)
		} else {
			t.anyValue(&op.Request)
		}
	case Transaction:
		t.txn(op.Txn, answered)
	case Transfer:
		t.raw("{")
		t.field("from", true)
		t.atom(op.Movement.From)
		t.field("to", false)
		t.atom(op.Movement.To)
		t.field("amount", false)
		t.number(op.Movement.Amount)
		t.raw("}")
	case ReadAccounts:
		if answered {
			t.accounts(op.Accounts)
		} else {
			t.atom(Atom{})
		}
	default:
		t.register(op, answered)
	}
}

func (t *eventText) register(op *Operation, answered bool) {
	switch {
	case op.Function == CompareAndSet:
		t.raw("[")
		t.atom(op.From)
		t.next()
		t.atom(op.Value)
		t.raw("]")
	case op.Function == Write || answered:
		t.atom(op.Value)
	default:
		t.atom(Atom{})
	}
}

func (t *eventText) txn(ops []MicroOp, answered bool) {
	t.raw("[")
	for i := range ops {
		if i > 0 {
			t.next()
		}
		m := &ops[i]
		t.raw("[")
		switch m.Kind {
		case Append:
			t.word("append")
		case Put:
			t.word("w")
		default:
			t.word("r")
		}
		t.next()
		t.atom(m.Key)
		t.next()
		switch {
		case m.Kind == Append || m.Kind == Put || m.Kind == GetValue && answered:
			t.atom(m.Value)
		case m.Kind == GetList && answered:
			t.list(m.List)
		default:
			t.atom(Atom{})
		}
		t.raw("]")
	}
	t.raw("]")
}

func (t *eventText) list(list []Atom) {
	t.raw("[")
	for i := range list {
		if i > 0 {
			t.next()
		}
		t.atom(list[i])
	}
	t.raw("]")
}

func (t *eventText) accounts(accounts []Account) {
	t.raw("{")
	for i, a := range accounts {
		if i > 0 {
			t.raw(", ")
		}
		switch {
		case t.edn:
			t.atom(a.ID)
			t.raw(" ")
		case a.ID.Kind == String || a.ID.Kind == Keyword:
			t.quote(a.ID.Text)
			t.raw(":")
		default:
			t.quote(a.ID.String())
			t.raw(":")
		}
		if a.Missing {
			t.atom(Atom{})
		} else {
			t.number(a.Balance)
		}
	}
	t.raw("}")
}

func (t *eventText) raw(s string)   { t.buf = append(t.buf, s...) }
func (t *eventText) number(v int64) { t.buf = strconv.AppendInt(t.buf, v, 10) }

func (t *eventText) next() {
	if t.edn {
		t.raw(" ")
	} else {
		t.raw(",")
	}
}

func (t *eventText) field(name string, first bool) {
	switch {
	case t.edn && !first:
		t.raw(", ")
	case !first:
		t.raw(",")
	}
	t.word(name)
	if t.edn {
		t.raw(" ")
	} else {
		t.raw(":")
	}
}

func (t *eventText) word(s string) {
	if t.edn && keywordText(s) {
		t.raw(":")
		t.raw(s)
		return
	}
	t.quote(s)
}

// keywordText reports whether a keyword with this text can be read back.
func keywordText(s string) bool {
	return s != "" && utf8.ValidString(s) && strings.IndexFunc(s, func(c rune) bool {
		return c < utf8.RuneSelf && ednDelimiter(byte(c))
	}) < 0
}

func (t *eventText) atom(a Atom) {
	switch a.Kind {
	case Number:
		t.number(a.Int)
	case Bool:
		t.buf = strconv.AppendBool(t.buf, a.Int != 0)
	case Big:
		t.raw(a.Text)
		if t.edn {
			t.raw("N")
		}
	case String:
		t.quote(a.Text)
	case Keyword:
		t.word(a.Text)
	default:
		if t.edn {
			t.raw("nil")
		} else {
			t.raw("null")
		}
	}
}

// quote writes a string that EDN and JSON read alike.
func (t *eventText) quote(s string) {
	t.raw(`"`)
	for _, c := range s { // what is not UTF-8 becomes U+FFFD
		switch {
		case c == '"' || c == '\\':
			t.buf = append(t.buf, '\\', byte(c))
		case c == '\n':
			t.raw(`\n`)
		case c < ' ':
			const hex = "0123456789abcdef"
			t.buf = append(t.buf, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			t.buf = utf8.AppendRune(t.buf, c)
		}
	}
	t.raw(`"`)
}
