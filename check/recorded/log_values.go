package recorded

import "slices"

// provenCommitted reports whether what the action sent is in the logs. Of one that failed
// it is not: then who polled it is wrong.
func (a *action) provenCommitted() bool {
	return a.by.Acknowledged() || a.by.Possible() && slices.ContainsFunc(a.steps, func(s step) bool {
		m := &s.on.messages[s.message]
		return s.send && m.read && !m.again
	})
}

// values judges each value that an action sent or polled, whatever came before.
func (j *journal) values(i int32, f *findings) {
	a := &j.all[i]
	sends := slices.ContainsFunc(a.steps, func(s step) bool { return s.send })
	for n := range a.steps {
		s := &a.steps[n]
		m := &s.on.messages[s.message]
		if !s.send {
			j.polledValue(a, s, m, sends && a.sent(s), f)
		}
		if s.offset == noOffset || s.send && !a.committed {
			continue
		}
		other, taken := s.on.at[s.offset]
		if !taken {
			s.on.at[s.offset] = s.message
		} else if other != s.message {
			first := &s.on.messages[other]
			f.add(kindOffsets, &a.by, "found %s at offset %d of key %s, where %s found %s", m.value, s.offset, s.on.key, &j.all[first.by].by, first.value)
		}
		m.last = max(m.last, s.offset)
		switch {
		case m.offset == noOffset:
			m.offset, m.by = s.offset, i
		case m.offset != s.offset && !m.again:
			f.add(kindDuplicate, &a.by, "found %s at offset %d of key %s, and %s found it at offset %d",
				m.value, s.offset, s.on.key, &j.all[m.by].by, m.offset)
		}
	}
}

// sent reports whether the action sent what it polled in a step.
func (a *action) sent(s *step) bool {
	return slices.ContainsFunc(a.steps, func(o step) bool { return o.send && o.on == s.on && o.message == s.message })
}

func (j *journal) polledValue(a *action, s *step, m *message, own bool, f *findings) {
	switch {
	case own:
		f.add(kindPrecommitted, &a.by, "polled %s of key %s, which it had sent itself and not committed", m.value, s.on.key)
	case m.sent < 0 && m.failed >= 0:
		if a.by.Acknowledged() {
			f.add(kindAborted, &a.by, "polled %s of key %s, but %s, which sent it, failed", m.value, s.on.key, &j.all[m.failed].by)
		}
	case m.sent < 0:
		f.add(kindUnexpected, &a.by, "polled %s of key %s, which nobody sent", m.value, s.on.key)
	case !m.again && a.by.Complete < j.all[m.sent].by.Invoke:
		f.add(kindFuture, &a.by, "polled %s of key %s before %s began to send it", m.value, s.on.key, &j.all[m.sent].by)
	}
}

// lost adds the values that were committed and never polled, though what has a higher
// offset was. It returns how many that were acknowledged have no higher one that was
// polled.
func (j *journal) lost(f *findings) (unseen int64) {
	for _, p := range j.order {
		highest := int32(-1) // the message with the highest offset that was polled
		for n := range p.messages {
			if m := &p.messages[n]; m.read && (highest < 0 || m.offset > p.messages[highest].offset) {
				highest = int32(n)
			}
		}
		for n := range p.messages {
			m := &p.messages[n]
			if m.sent < 0 || m.polled || !j.all[m.sent].committed {
				continue
			}
			if m.again || highest < 0 || m.offset == noOffset || m.last > p.messages[highest].offset {
				if m.acknowledged >= 0 {
					unseen++
				}
				continue
			}
			last, how := &p.messages[highest], "which was acknowledged"
			if m.acknowledged < 0 {
				how = "and what else it sent was polled, so that it was committed, this"
			}
			f.add(kindLostWrite, &j.all[m.sent].by,
				"sent %s to key %s, %s with offset %d, but nobody polled it, though %s at offset %d was polled",
				m.value, p.key, how, m.offset, last.value, last.offset)
		}
	}
	return unseen
}
