package register

import (
	"fmt"
	"strconv"
	"strings"

	"assay/check"
	"assay/history"
)

type evidenceText struct {
	values []string
	seq    *sequence
}

func (t *evidenceText) evidence(f *finding) check.Evidence {
	e := check.Evidence{Kind: f.kind, Fields: map[string]int64{
		"operation": f.subject.id, "process": f.subject.process,
	}}
	if f.subject.invokeTime != NoTime {
		e.Fields["invoke_ns"] = f.subject.invokeTime
	}
	if f.subject.completeTime != NoTime && f.subject.outcome == history.Committed {
		e.Fields["complete_ns"] = f.subject.completeTime
	}
	if len(f.with) > 0 && f.with[0] != nil {
		e.Fields["other_operation"] = f.with[0].id
	}
	if f.kind == kindFew {
		e.Fields["changes"], e.Fields["writes"] = int64(f.changes), int64(f.writes)
	}
	if t.seq.key != "" {
		e.Text = "key " + t.seq.key + ": "
		if n, err := strconv.ParseInt(t.seq.key, 10, 64); err == nil {
			e.Fields["key"] = n
		}
	}
	e.Text += t.text(f)
	return e
}

func (t *evidenceText) text(f *finding) string {
	value, subject := t.values[f.value], t.op(f.subject)
	switch f.kind {
	case kindGarbage:
		text := fmt.Sprintf("%s, but nobody wrote %s", subject, value)
		if t.seq.untouched(f.subject.invoke) {
			text += "; if the register held it from the beginning, give it as the initial value"
		}
		return text
	case kindDirty:
		return fmt.Sprintf("%s, but %s failed, and nobody else wrote %s", subject, t.op(f.with[0]), value)
	case kindFuture:
		return fmt.Sprintf("%s, before anybody wrote %s: first, %s", subject, value, t.op(f.with[0]))
	case kindDuplicate:
		return fmt.Sprintf("%s was replaced more often than it was written (%s): %s, and %s",
			value, times(len(f.with)), t.ops(f.with), subject)
	case kindLost:
		return fmt.Sprintf("%s was acknowledged, but nobody read %s, and %s, begun %s later, found %s",
			t.op(f.with[0]), t.values[f.with[0].value], subject, after(f.with[0], f.subject), t.origin(f))
	case kindStale:
		return fmt.Sprintf("%s, but %s was overwritten: %s ended %s before that began, and began after %s",
			subject, value, t.op(f.with[0]), after(f.with[0], f.subject), t.done(f))
	case kindOrder:
		return t.order(f)
	case kindFew:
		return fmt.Sprintf("%s: with it, operations one after the other show that the register changed to %s %s at least, "+
			"and of the %s of it none is left that can have taken effect between the %s and this", subject, value, times(f.changes),
			plural(f.writes, "write"), t.op(f.with[0]))
	}
	return t.unexplained(f)
}

func (t *evidenceText) origin(f *finding) string {
	if len(f.with) < 2 {
		return fmt.Sprintf("the initial value %s", t.values[f.value])
	}
	return fmt.Sprintf("%s, set before that by the %s", t.values[f.value], t.op(f.with[1]))
}

// done describes the last event before a stale value was overwritten.
func (t *evidenceText) done(f *finding) string {
	if len(f.with) < 2 {
		return "the beginning, when the register held " + t.values[f.value]
	}
	return "the end of the " + t.op(f.with[1])
}

func (t *evidenceText) order(f *finding) string {
	value, other := t.values[f.value], t.values[f.other]
	first := fmt.Sprintf("the %s ended before the %s began", t.op(f.with[0]), t.op(f.with[1]))
	if f.with[0] == nil {
		first = fmt.Sprintf("%s was there from the beginning, before the %s", value, t.op(f.with[1]))
	}
	return fmt.Sprintf("%s and %s would each have to come before the other: %s, but the %s ended before the %s began",
		value, other, first, t.op(f.with[2]), t.op(f.subject))
}

func (t *evidenceText) unexplained(f *finding) string {
	if len(f.with) > 0 { // the limit ended the search for the one
		return fmt.Sprintf("no order explains the operations from the %s on, up to the %s", t.op(f.with[0]), t.op(f.subject))
	}
	text := fmt.Sprintf("no order of the operations explains the %s", t.op(f.subject))
	if len(f.could) > 0 {
		names := make([]string, len(f.could))
		for i, v := range f.could {
			names[i] = t.values[v]
		}
		text += "; the register could hold only " + strings.Join(names, " or ") + " then"
	}
	const last = 5
	if n := len(f.order); n > 0 {
		text += fmt.Sprintf("; what was before it is explained by an order that ends: %s", t.ops(f.order[max(0, n-last):]))
	}
	return text
}

func (t *evidenceText) ops(ops []*op) string {
	parts := make([]string, len(ops))
	for i, o := range ops {
		parts[i] = t.op(o)
	}
	return strings.Join(parts, ", ")
}

func (t *evidenceText) op(o *op) string {
	if o == nil {
		return "beginning"
	}
	var what string
	switch o.kind {
	case Read:
		what = "read of " + t.values[o.value]
	case Write:
		what = "write of " + t.values[o.value]
	default:
		what = fmt.Sprintf("compare-and-set from %s to %s", t.values[o.from], t.values[o.value])
	}
	return fmt.Sprintf("%s by process %d (operation %d, %s)", what, o.process, o.id, when(o))
}

func when(o *op) string {
	span := fmt.Sprintf("events %d to %d", o.invoke, o.complete)
	begin := fmt.Sprintf("event %d", o.invoke)
	if o.invokeTime != NoTime {
		begin = seconds(o.invokeTime)
		if o.completeTime != NoTime {
			span = begin + " to " + seconds(o.completeTime)
		}
	}
	switch {
	case o.outcome == history.Committed:
		return span
	case o.seen:
		return "begun at " + begin + ", outcome unknown, but its effect was seen"
	case o.outcome == history.Unknown:
		return "begun at " + begin + ", outcome unknown"
	default:
		return "begun at " + begin
	}
}

func seconds(ns int64) string { return fmt.Sprintf("%.6f s", float64(ns)/1e9) }

func after(w, o *op) string {
	if w.completeTime == NoTime || o.invokeTime == NoTime || w.outcome != history.Committed || o.invokeTime < w.completeTime {
		return "some time"
	}
	return seconds(o.invokeTime - w.completeTime)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}

// untouched reports whether no certain write had ended before at.
func (s *sequence) untouched(at int64) bool {
	for i := range s.ops {
		if o := &s.ops[i]; o.kind != Read && o.certain() && o.complete < at {
			return false
		}
	}
	return true
}
