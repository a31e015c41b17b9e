package bugs

import (
	"context"
	"errors"
	"slices"

	"assay/history"
	"assay/store"
	"assay/store/bug"
)

func (n *session) Verbatim(ctx context.Context, writes bool, work func(context.Context, store.Sender) error) store.Reply {
	if _, is := n.Session.(store.Verbatim); !is {
		return store.Reply{Outcome: history.Failed, Class: store.ClassOther, Err: errors.ErrUnsupported}
	}
	return n.do(ctx, &operation{writes: writes, texts: work})
}

// suitsTexts reports whether a bug can act in texts, whose meaning is not known.
func suitsTexts(does bug.Does) bool {
	return slices.Contains([]bug.Does{bug.Loses, bug.Denies, bug.Forgets, bug.Delays}, does)
}

func (n *session) sendTexts(ctx context.Context, x *attempt, o *operation) store.Reply {
	reply := n.Session.(store.Verbatim).Verbatim(ctx, o.writes, func(ctx context.Context, s store.Sender) error {
		return o.texts(ctx, &spoilableTexts{s, x})
	})
	x.d.guard.Lock()
	defer x.d.guard.Unlock()
	x.over = true
	return reply
}

type spoilableTexts struct {
	store.Sender
	x *attempt
}

func (t *spoilableTexts) Send(ctx context.Context, texts ...store.UserText) ([]store.Result, error) {
	if len(texts) > 1 {
		return t.Sender.Send(ctx, texts...)
	}
	text, strikes := texts[0], false
	changes := text.Kind == store.Writes || text.Kind == store.Defines
	switch x := t.x; {
	case x.does(bug.Forgets):
		strikes = changes && !x.struck
	case x.does(bug.Loses) && text.Kind == store.Commits && x.unseen:
		text.Text, text.Kind, x.struck = "ROLLBACK", store.RollsBack, true
	case x.does(bug.Loses):
		strikes = changes && t.Status() == store.Idle
	}
	t.x.unseen = t.x.unseen || changes
	if strikes {
		t.x.struck = true
		return []store.Result{{Rows: 1}}, nil
	}
	return t.Sender.Send(ctx, text)
}
