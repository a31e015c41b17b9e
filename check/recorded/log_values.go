package recorded

// provenCommitted reports whether the action's sends are certainly in the logs. The sends of a
// failed action are not: then a poll of them is wrong.
func (j *journal) provenCommitted(i int32) bool {
	by := &j.all.at(i).by
	if by.Acknowledged() || !by.Possible() {
		return by.Acknowledged()
	}
	for s := range j.stepsOf(i) {
		if m, _ := j.messageOf(s); s.send() && m.read && !m.again {
			return true
		}
	}
	return false
}

// values judges each value that an action sent or polled, regardless of order.
func (j *journal) values(i int32, f *findings) {
	a, sends := j.all.at(i), false
	for s := range j.stepsOf(i) {
		sends = sends || s.send()
	}
	for s := range j.stepsOf(i) {
		m, seen := j.messageOf(s)
		if !s.send() {
			j.polledValue(a, m, sends && j.sent(i, seen.message), f)
		}
		if seen.offset == noOffset || s.send() && !a.committed {
			continue
		}
		if seen.standing < 0 {
			standing, taken := m.on.at[seen.offset]
			if !taken {
				standing = seen.message
				m.on.at[seen.offset] = standing
			}
			seen.standing = standing
		}
		if seen.standing != seen.message {
			first := j.messages.at(seen.standing)
			f.add(kindOffsets, &a.by, "found %s at offset %d of key %s, where %s found %s", m.value, seen.offset, m.on.key, &j.all.at(first.by).by, first.value)
		}
		m.last = max(m.last, seen.offset)
		switch {
		case m.offset == noOffset:
			m.offset, m.by = seen.offset, i
		case m.offset != seen.offset && !m.again:
			f.add(kindDuplicate, &a.by, "found %s at offset %d of key %s, and %s found it at offset %d",
				m.value, seen.offset, m.on.key, &j.all.at(m.by).by, m.offset)
		}
	}
}

func (j *journal) sent(i, message int32) bool {
	for s := range j.stepsOf(i) {
		if s.send() && j.sightings.at(s.sighting()).message == message {
			return true
		}
	}
	return false
}

func (j *journal) polledValue(a *action, m *message, own bool, f *findings) {
	switch {
	case own:
		f.add(kindPrecommitted, &a.by, "polled %s of key %s, which it had sent itself and not committed", m.value, m.on.key)
	case m.sent < 0 && m.failed >= 0:
		if a.by.Acknowledged() {
			f.add(kindAborted, &a.by, "polled %s of key %s, but %s, which sent it, failed", m.value, m.on.key, &j.all.at(m.failed).by)
		}
	case m.sent < 0:
		f.add(kindUnexpected, &a.by, "polled %s of key %s, which nobody sent", m.value, m.on.key)
	case !m.again && a.by.Complete < j.all.at(m.sent).by.Invoke:
		f.add(kindFuture, &a.by, "polled %s of key %s before %s began to send it", m.value, m.on.key, &j.all.at(m.sent).by)
	}
}

// lost adds the committed values that were never polled although a higher offset was. It returns
// the number of acknowledged values without a higher polled offset.
func (j *journal) lost(f *findings) (unseen int64) {
	for _, p := range j.order {
		var last *message // the one with the highest offset that was polled
		for _, n := range p.messages {
			if m := j.messages.at(n); m.read && (last == nil || m.offset > last.offset) {
				last = m
			}
		}
		for _, n := range p.messages {
			m := j.messages.at(n)
			if m.sent < 0 || m.polled || !j.all.at(m.sent).committed {
				continue
			}
			acknowledged := j.all.at(m.sent).by.Acknowledged()
			if m.again || last == nil || m.offset == noOffset || m.last > last.offset {
				if acknowledged {
					unseen++
				}
				continue
			}
			how := "which was acknowledged"
			if !acknowledged {
				how = "and what else it sent was polled, so that it was committed, this"
			}
			f.add(kindLostWrite, &j.all.at(m.sent).by,
				"sent %s to key %s, %s with offset %d, but nobody polled it, though %s at offset %d was polled",
				m.value, p.key, how, m.offset, last.value, last.offset)
		}
	}
	return unseen
}
