package exchange

import "slices"

// plainOp is one operation of a transaction.
type plainOp struct {
	// value is what was written or read; of a GetList it is where in the chunk's
	// numbers the elements begin, and size is how many they are.
	key, value int64
	size       int32
	kind       MicroKind
}

// transaction reads a list of operations.
func (d *plainDecoder) transaction() bool {
	if !d.is('[') {
		return false
	}
	for first := true; ; first = false {
		more, ok := d.more(']', first)
		if !ok || !more {
			return ok
		}
		d.chunk.ops = append(d.chunk.ops, plainOp{})
		if !d.operation(&d.chunk.ops[len(d.chunk.ops)-1]) {
			return false
		}
	}
}

// operation reads one operation of a transaction, such as [:r 8 [1 2]].
func (d *plainDecoder) operation(op *plainOp) bool {
	read := false
	switch {
	case d.literal(d.read):
		read = true
		d.skipBlank()
	case d.literal(d.append):
		op.kind = Append
		d.skipBlank()
	case !d.is('['):
		return false
	default:
		d.skipBlank()
		word, ok := d.word()
		if !ok || !d.separate() {
			return false
		}
		switch string(word) {
		case "append":
			op.kind = Append
		case "w":
			op.kind = Put
		case "r":
			read = true
		default:
			return false
		}
	}
	if !d.number(&op.key) || !d.separate() {
		return false
	}
	var ok bool
	if read {
		ok = d.result(op)
	} else {
		ok = d.number(&op.value)
	}
	d.skipBlank()
	return ok && d.is(']')
}

// result reads what a read saw.
func (d *plainDecoder) result(op *plainOp) bool {
	switch d.text[d.at] {
	case '[':
		op.kind = GetList
		return d.list(op)
	case 'n':
		op.kind = GetNothing
		return d.nothing()
	default:
		op.kind = GetValue
		return d.number(&op.value)
	}
}

func (d *plainDecoder) list(op *plainOp) bool {
	d.at++
	numbers := d.chunk.numbers
	begin := len(numbers)
	more, ok := d.more(']', true)
	for more && ok {
		var v int64
		if !d.number(&v) {
			return false
		}
		numbers = append(numbers, v)
		if next := d.at + 1; d.text[d.at] == d.separator && next < len(d.text) && d.text[next]-'0' <= 9 {
			d.at = next
			continue
		}
		more, ok = d.more(']', false)
	}
	op.value, op.size = int64(begin), int32(len(numbers)-begin)
	d.chunk.numbers = numbers
	return ok
}

// plainOps are the operations of an event that was decoded ahead.
func (e *event) plainOps() []plainOp {
	return e.chunk.ops[e.plain.first : e.plain.first+e.plain.count]
}

// same reports whether both do the same, whatever they read.
func (p *plainOp) same(other *plainOp) bool {
	if p.key != other.key || p.kind.writes() != other.kind.writes() {
		return false
	}
	return !p.kind.writes() || p.kind == other.kind && p.value == other.value
}

// list has the elements of a GetList, which are among numbers.
func (p *plainOp) list(numbers []int64) []int64 {
	end := p.value + int64(p.size)
	return numbers[p.value:end:end]
}

// plainAnswer is txnAnswer for an event that was decoded ahead.
func (t *tree) plainAnswer(e *event, op *Operation) error {
	if op.Keyed {
		return e.errOtherKey(op)
	}
	ops, asked := e.plainOps(), len(op.asked)
	same := func(i int) bool { return op.asked[i].same(&ops[i]) }
	if !op.plain {
		asked = len(op.Txn)
		same = func(i int) bool {
			return op.Txn[i].same(&MicroOp{Kind: ops[i].kind, Key: Int64(ops[i].key), Value: Int64(ops[i].value)})
		}
	}
	if err := e.sameSteps(op, asked, len(ops), same); err != nil {
		return err
	}
	op.Txn = op.Txn[:0]
	t.fill(op, ops, e.chunk.numbers)
	return nil
}

// settle enters what a transaction was invoked with, if it was not acknowledged.
func (t *tree) settle(op *Operation) {
	if op.plain {
		t.fill(op, op.asked, nil)
	}
}

// fill enters plain operations, in the form that was asked for.
func (t *tree) fill(op *Operation, ops []plainOp, numbers []int64) {
	op.plain = false
	if !t.compact {
		op.steps(ops, numbers)
		return
	}
	t.numbers = slices.Grow(t.numbers[:0], len(ops))
	for i := range ops {
		p := &ops[i]
		n := NumberOp{Kind: p.kind, Key: p.key, Value: p.value}
		if p.kind == GetList {
			n.Value, n.List = 0, p.list(numbers)
		}
		t.numbers = append(t.numbers, n)
	}
	op.Numbers = t.numbers
}

// steps enters plain operations as those of any transaction.
func (o *Operation) steps(ops []plainOp, numbers []int64) {
	o.Txn = slices.Grow(o.Txn, len(ops))
	for i := range ops {
		p := &ops[i]
		m := o.grow()
		m.Kind, m.Key = p.kind, Int64(p.key)
		switch p.kind {
		case Append, Put, GetValue:
			m.Value = Int64(p.value)
		case GetList:
			for _, v := range p.list(numbers) {
				m.List = append(m.List, Int64(v))
			}
		}
	}
}
