package register

import (
	"fmt"
	"strconv"
	"strings"

	"assay/check"
	"assay/history"
)

func (s *sequence) evidence(f *finding) check.Evidence {
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
	if s.key != "" {
		e.Text = "key " + s.key + ": "
		if n, err := strconv.ParseInt(s.key, 10, 64); err == nil {
			e.Fields["key"] = n
		}
	}
	e.Text += s.text(f)
	return e
}

func (s *sequence) text(f *finding) string {
	value, subject := s.values[f.value], s.opText(f.subject)
	switch f.kind {
	case kindGarbage:
		text := fmt.Sprintf("%s, but nobody wrote %s", subject, value)
		if s.untouched(f.subject.invoke) {
			text += "; if the register held it from the beginning, give it as the initial value"
		}
		return text
	case kindDirty:
		return fmt.Sprintf("%s, but %s failed, and nobody else wrote %s", subject, s.opText(f.with[0]), value)
	case kindFuture:
		return fmt.Sprintf("%s, before anybody wrote %s: first, %s", subject, value, s.opText(f.with[0]))
	case kindDuplicate:
		return fmt.Sprintf("%s was replaced more often than it was written (%s): %s, and %s",
			value, times(len(f.with)), s.opsText(f.with), subject)
	case kindLost:
		return fmt.Sprintf("%s was acknowledged, but nobody read %s, and %s, begun %s later, found %s",
			s.opText(f.with[0]), s.values[f.with[0].value], subject, after(f.with[0], f.subject), s.origin(f))
	case kindStale:
		return fmt.Sprintf("%s, but %s was overwritten: %s ended %s before that began, and began after %s",
			subject, value, s.opText(f.with[0]), after(f.with[0], f.subject), s.done(f))
	case kindOrder:
		return s.order(f)
	case kindFew:
		return fmt.Sprintf("%s: with it, operations one after the other show that the register changed to %s %s at least, "+
			"and of the %s of it none is left that can have taken effect between the %s and this", subject, value, times(f.changes),
			plural(f.writes, "write"), s.opText(f.with[0]))
	}
	return s.unexplained(f)
}

func (s *sequence) origin(f *finding) string {
	if len(f.with) < 2 {
		return fmt.Sprintf("the initial value %s", s.values[f.value])
	}
	return fmt.Sprintf("%s, set before that by the %s", s.values[f.value], s.opText(f.with[1]))
}

// done describes the last event before a stale value was overwritten.
func (s *sequence) done(f *finding) string {
	if len(f.with) < 2 {
		return "the beginning, when the register held " + s.values[f.value]
	}
	return "the end of the " + s.opText(f.with[1])
}

func (s *sequence) order(f *finding) string {
	value, other := s.values[f.value], s.values[f.other]
	first := fmt.Sprintf("the %s ended before the %s began", s.opText(f.with[0]), s.opText(f.with[1]))
	if f.with[0] == nil {
		first = fmt.Sprintf("%s was there from the beginning, before the %s", value, s.opText(f.with[1]))
	}
	return fmt.Sprintf("%s and %s would each have to come before the other: %s, but the %s ended before the %s began",
		value, other, first, s.opText(f.with[2]), s.opText(f.subject))
}

func (s *sequence) unexplained(f *finding) string {
	if len(f.with) > 0 { // the limit ended the search for the one
		return fmt.Sprintf("no order explains the operations from the %s on, up to the %s", s.opText(f.with[0]), s.opText(f.subject))
	}
	text := fmt.Sprintf("no order of the operations explains the %s", s.opText(f.subject))
	if len(f.could) > 0 {
		names := make([]string, len(f.could))
		for i, v := range f.could {
			names[i] = s.values[v]
		}
		text += "; the register could hold only " + strings.Join(names, " or ") + " then"
	}
	const last = 5
	if n := len(f.order); n > 0 {
		text += fmt.Sprintf("; what was before it is explained by an order that ends: %s", s.opsText(f.order[max(0, n-last):]))
	}
	return text
}

func (s *sequence) opsText(ops []*op) string {
	parts := make([]string, len(ops))
	for i, o := range ops {
		parts[i] = s.opText(o)
	}
	return strings.Join(parts, ", ")
}

func (s *sequence) opText(o *op) string {
	if o == nil {
		return "beginning"
	}
	var what string
	switch o.kind {
	case Read:
		what = "read of " + s.values[o.value]
	case Write:
		what = "write of " + s.values[o.value]
	default:
		what = fmt.Sprintf("compare-and-set from %s to %s", s.values[o.from], s.values[o.value])
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
