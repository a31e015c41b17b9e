package isolation

import (
	"fmt"

	"assay/check"
	"assay/check/cycle"
	"assay/history"
)

// addStatements adds to excerpts what their transactions sent, by the recorded moments.
func (j *judge) addStatements(of []cycle.Smallest) error {
	wanted := map[int64][]*check.Operation{}
	for i := range of {
		all := of[i].Excerpt.Operations
		for k := range all {
			wanted[all[k].ID] = append(wanted[all[k].ID], &all[k])
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	_, err := history.Read(j.evidence.History, history.Visitor{Op: func(op *history.Op) error {
		for _, o := range wanted[TransactionID(op.Client, op.Seq, op.Attempt)] {
			o.Attempt, o.Statements = op.Attempt, statementsOf(op)
		}
		return nil
	}})
	return err
}

// statementsOf is nil if the record has no moments.
func statementsOf(op *history.Op) (all []check.Statement) {
	ops, _, err := Decode(op.Values, nil)
	tail := 2*len(ops) + 1
	if err != nil || len(op.Values) < tail+2 || op.Values[len(op.Values)-tail-2] != int64(moments) || op.Values[len(op.Values)-tail-1] != int64(tail) {
		return nil
	}
	at, passed := op.Start, op.Values[len(op.Values)-tail:]
	next := func() int64 {
		at, passed = at+1000*passed[0], passed[1:]
		return at
	}
	all = append(all, check.Statement{Text: "BEGIN", Sent: op.Start, Answered: -1})
	for i := range ops {
		text, answer := ops[i].inWords()
		all = append(all, check.Statement{Text: text, Answer: answer, Sent: next(), Answered: next()})
	}
	return append(all, check.Statement{Text: "COMMIT", Sent: next(), Answered: op.End})
}

const mostTold = 10

func (o *Op) inWords() (text, answer string) {
	switch o.Kind {
	case Append:
		return fmt.Sprintf("append %d to key %d", o.Value, o.Key), ""
	case AppendByRewrite:
		return fmt.Sprintf("read key %d, and write it with %d at its end", o.Key, o.Value), ""
	case ReadList:
		left := ""
		list := o.List
		if n := len(list) - mostTold; n > 0 {
			left, list = fmt.Sprintf("(%d elements) ", n), list[n:]
		}
		return fmt.Sprintf("read key %d", o.Key), fmt.Sprintf("gives %s%d", left, list)
	case Write:
		return fmt.Sprintf("write %d to key %d", o.Value, o.Key), ""
	case ReadValue:
		if !o.Found {
			return fmt.Sprintf("read key %d", o.Key), "gives nothing"
		}
		return fmt.Sprintf("read key %d", o.Key), fmt.Sprintf("gives %d", o.Value)
	}
	return fmt.Sprintf("operation of kind %d on key %d", o.Kind, o.Key), ""
}
