package exchange

import "slices"

func (t *tree) request(e *event, op *Operation) error {
	op.Function = e.function
	if err := t.keyBeside(e, op); err != nil {
		return err
	}
	switch e.function {
	case Other:
		op.Word, op.Request = e.word, t.value(e.value, op)
		return nil
	case Transaction:
		op.Word = e.word
		return t.txn(e, op)
	case Transfer:
		return t.transfer(e, op)
	case Read:
		// The value of a read's invocation means nothing, except the key in [key nil]: some tools
		// put there the value that the read will see.
		if e.value == none || op.beside {
			return nil
		}
		key, _, ok := t.pair(e.value)
		if !ok {
			return nil
		}
		return t.key(e, key, op)
	case Write:
		if e.value == none {
			return e.bad("a write without a value")
		}
		value := e.value
		t.keyed = t.keyed || t.ofRegisterKey(e)
		if key, second, ok := t.pair(value); ok && !op.beside {
			if err := t.key(e, key, op); err != nil {
				return err
			}
			value = second
		}
		return t.scalar(e, value, &op.Value)
	default:
		return t.cas(e, op)
	}
}

// keyBeside reads the independent key of a field of its own.
func (t *tree) keyBeside(e *event, op *Operation) error {
	if e.key == none {
		return nil
	}
	op.Keyed, op.beside = true, true
	return t.scalar(e, e.key, &op.Key)
}

// sameKeyBeside refuses a completion whose key is not the invocation's. It need not repeat the key.
func (t *tree) sameKeyBeside(e *event, op *Operation) error {
	if e.key == none {
		return nil
	}
	key, ok := t.atom(e.key)
	switch {
	case !op.beside:
		return e.bad("the completion of %s names the key %s, and its invocation on line %d names none; name the key in both, or in neither",
			op.name(), t.describe(e.key), op.Line)
	case !ok || key != op.Key:
		return e.bad("%s of the key %s, invoked on line %d, is answered for the key %s", op.name(), op.Key, op.Line, t.describe(e.key))
	}
	return nil
}

// answer reads an acknowledgement into op, which has its request.
func (t *tree) answer(e *event, op *Operation) error {
	switch op.Function {
	case Other:
		op.Answer, op.Position, op.Link = t.value(e.value, op), t.value(e.position, op), t.value(e.link, op)
		return nil
	case Transaction:
		return t.txnAnswer(e, op)
	case Read:
		return t.readAnswer(e, op)
	case Transfer:
		return nil // what moved is what was asked for
	}
	if e.value == none || t.is(e.value, nilNode) && op.Value.Kind != Nil {
		return nil
	}
	var answered Operation
	if err := t.request(e, &answered); err != nil {
		return err
	}
	if op.beside && !answered.beside { // told by the invocation alone
		answered.Keyed, answered.Key = op.Keyed, op.Key
	}
	if answered.Keyed != op.Keyed || answered.Key != op.Key || answered.Value != op.Value || answered.From != op.From {
		return e.bad("process %d is told that another %s than its own was done; its own began on line %d",
			e.process, op.Function, op.Line)
	}
	return nil
}

func (t *tree) readAnswer(e *event, op *Operation) error {
	value := e.value
	if op.beside { // compared already
	} else if op.Keyed {
		key, second, ok := 0, 0, false
		if e.value != none {
			key, second, ok = t.pair(e.value)
		}
		if !ok {
			return e.bad("a read of the key %s does not answer with [key value]", op.Key)
		}
		if answered, known := t.atom(key); !known || answered != op.Key {
			return e.bad("a read of the key %s answers for the key %s", op.Key, t.describe(key))
		}
		value = second
	} else if key, second, ok := t.unaskedKey(e.value); ok {
		value = second
		if err := t.key(e, key, op); err != nil {
			return err
		}
	}
	if value == none {
		return nil
	}
	switch kind := t.nodes[value].kind; {
	case t.only == Register:
	case kind == mapNode:
		op.Function = ReadAccounts
		return t.accounts(e, value, op)
	case kind == listNode:
		op.Function, op.Listed = ReadAccounts, true
		return t.accountList(e, value, op)
	}
	return t.scalar(e, value, &op.Value)
}

// unaskedKey returns the key and the value in the answer of a read that was invoked without a
// key, in a history of independent keys.
func (t *tree) unaskedKey(value int) (key, second int, ok bool) {
	if value == none || !t.keyed && t.only != Register {
		return 0, 0, false
	}
	if key, second, ok = t.pair(value); ok {
		_, ok = t.atom(key)
	}
	return key, second, ok
}

// txnAnswer reads an acknowledged transaction into op, which has its request. A transaction that
// did other steps than requested is malformed: it is not known which list is true.
func (t *tree) txnAnswer(e *event, op *Operation) error {
	t.asked, op.Txn = op.Txn, t.asked
	key, keyed := op.Key, op.Keyed
	if !op.beside {
		op.Key, op.Keyed = Atom{}, false
	}
	if err := t.txn(e, op); err != nil {
		return err
	}
	if op.Key != key || op.Keyed != keyed {
		return e.errOtherKey(op)
	}
	return e.sameSteps(op, len(t.asked), len(op.Txn), func(i int) bool { return t.asked[i].same(&op.Txn[i]) })
}

func (e *event) errOtherKey(op *Operation) error {
	return e.bad("process %d invoked a transaction on line %d and is answered with one of another independent key", e.process, op.Line)
}

func (e *event) sameSteps(op *Operation, asked, answered int, same func(step int) bool) error {
	if asked != answered {
		return e.bad("process %d invoked a transaction of %d operations on line %d and is answered with %d",
			e.process, asked, op.Line, answered)
	}
	for i := range asked {
		if !same(i) {
			return e.bad("operation %d of the transaction is not the one that process %d invoked on line %d", i+1, e.process, op.Line)
		}
	}
	return nil
}

// same reports whether both steps do the same, whatever they read.
func (m *MicroOp) same(other *MicroOp) bool {
	if m.Key != other.Key || m.Kind.writes() != other.Kind.writes() {
		return false
	}
	return !m.Kind.writes() || m.Kind == other.Kind && m.Value == other.Value
}

func (k MicroKind) writes() bool { return k == Append || k == Put }

func (t *tree) txn(e *event, op *Operation) error {
	op.Txn = op.Txn[:0]
	value, err := t.independent(e, op, listNode)
	if err != nil {
		return err
	}
	if value == none || !t.is(value, listNode) {
		return e.bad("a transaction whose value is not a list of operations such as [:r 1 nil]")
	}
	for child := range t.children(value) {
		if err := t.microOp(e, child, op.grow()); err != nil {
			return err
		}
	}
	return nil
}

// independent returns the value of an event without its independent key, if it is a pair of an
// atom and a value of this kind. It sets the key in op.
func (t *tree) independent(e *event, op *Operation, kind nodeKind) (int, error) {
	if e.value == none || op.beside {
		return e.value, nil
	}
	key, value, ok := t.pair(e.value)
	if !ok || t.is(key, listNode) || !t.is(value, kind) {
		return e.value, nil
	}
	return value, t.key(e, key, op)
}

func (t *tree) transfer(e *event, op *Operation) error {
	value, err := t.independent(e, op, mapNode)
	if err != nil {
		return err
	}
	if value == none || !t.is(value, mapNode) {
		return e.bad("a transfer whose value is not a map such as {:from 1, :to 2, :amount 5}")
	}
	parts := [3]string{"from", "to", "amount"}
	var found [3]int // the nodes of the parts
	for key, end := value+1, t.after(value); key < end; {
		value := t.after(key)
		word, _ := t.word(key)
		if part := slices.Index(parts[:], word); part >= 0 {
			if found[part] != 0 {
				return e.bad("a transfer that names %s twice", t.describe(key))
			}
			found[part] = value
		}
		key = t.after(value)
	}
	from, to, amount := found[0], found[1], found[2]
	if from == 0 || to == 0 || amount == 0 {
		return e.bad("a transfer without from, to or amount")
	}
	if !t.is(amount, intNode) {
		return e.bad("the amount %s is not a whole number of 64 bits", t.describe(amount))
	}
	op.Movement.Amount = t.nodes[amount].num
	if err := t.scalar(e, from, &op.Movement.From); err != nil {
		return err
	}
	err = t.scalar(e, to, &op.Movement.To)
	op.Movement.From, op.Movement.To = op.Movement.From.Whole(), op.Movement.To.Whole() // as the reads name them
	return err
}

// accounts reads a map from account to balance.
func (t *tree) accounts(e *event, at int, op *Operation) error {
	for key, end := at+1, t.after(at); key < end; {
		value := t.after(key)
		a := Account{}
		if err := t.scalar(e, key, &a.ID); err != nil {
			return err
		}
		a.ID = a.ID.Whole()
		if err := t.balance(e, value, &a); err != nil {
			return err
		}
		op.Accounts = append(op.Accounts, a)
		key = t.after(value)
	}
	return t.distinctAccounts(e, op.Accounts)
}

// distinctAccounts refuses a map with one key twice: it is not known which balance was read.
func (t *tree) distinctAccounts(e *event, accounts []Account) error {
	clear(t.accountsSeen)
	if t.accountsSeen == nil {
		t.accountsSeen = map[Atom]struct{}{}
	}
	for i := range accounts {
		t.accountsSeen[accounts[i].ID] = struct{}{}
		if len(t.accountsSeen) == i {
			return e.bad("a read that names account %s twice", accounts[i].ID)
		}
	}
	return nil
}

// accountList reads a list of balances, for the accounts 0, 1, 2 and so on.
func (t *tree) accountList(e *event, at int, op *Operation) error {
	for child := range t.children(at) {
		a := Account{ID: Int64(int64(len(op.Accounts)))}
		if err := t.balance(e, child, &a); err != nil {
			return err
		}
		op.Accounts = append(op.Accounts, a)
	}
	return nil
}

func (t *tree) balance(e *event, at int, a *Account) error {
	switch t.nodes[at].kind {
	case nilNode:
		a.Missing = true
		return nil
	case intNode:
		a.Balance = t.nodes[at].num
		return nil
	}
	return e.bad("the balance of account %s is %s, and no whole number of 64 bits", a.ID, t.describe(at))
}

// cas reads [from to], or [key [from to]].
func (t *tree) cas(e *event, op *Operation) error {
	if e.value == none {
		return e.bad("a cas without a value")
	}
	from, to, ok := t.pair(e.value)
	if ok && t.is(to, listNode) && !op.beside {
		t.keyed = true
		if err := t.key(e, from, op); err != nil {
			return err
		}
		from, to, ok = t.pair(to)
	}
	if !ok {
		return e.bad("a cas of %s; it should be [from to], or [key [from to]]", t.describe(e.value))
	}
	if err := t.scalar(e, from, &op.From); err != nil {
		return err
	}
	return t.scalar(e, to, &op.Value)
}

func (t *tree) key(e *event, at int, op *Operation) error {
	op.Keyed = true
	return t.scalar(e, at, &op.Key)
}

func (t *tree) scalar(e *event, at int, into *Atom) error {
	a, ok := t.atom(at)
	if !ok {
		return e.bad("%s is no key or value; these are whole numbers, words or nil", t.describe(at))
	}
	*into = a
	return nil
}
