package mongodb

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

// sending is the context of commands, and counts those that the library has begun to write to a
// connection. What is not counted has certainly not been sent: no server was found, or no
// connection could be had. It is used by one goroutine at a time.
type sending struct {
	context.Context // of the session, if there is one
	// of is the context before. Like an attempt's own this one has an AfterFunc method, without
	// which package context starts a goroutine for what the library derives from it at each command.
	of       context.Context
	commands int
	// latest is set with each of them; who looks at it clears it before.
	latest bool
}

type sendingKey struct{}

// counting returns a context whose commands are counted, and are of a session if there is one.
func counting(ctx context.Context, session *mongo.Session) *sending {
	s := &sending{Context: ctx, of: ctx}
	if session != nil {
		s.Context = mongo.NewSessionContext(ctx, session)
	}
	return s
}

// sendingOf is that of a command; nil if it is not counted.
func sendingOf(ctx context.Context) *sending {
	s, _ := ctx.Value(sendingKey{}).(*sending)
	return s
}

// Value implements context.Context.
func (s *sending) Value(key any) any {
	if key == (sendingKey{}) {
		return s
	}
	return s.Context.Value(key)
}

// AfterFunc is context.AfterFunc's.
func (s *sending) AfterFunc(call func()) (stop func() bool) { return context.AfterFunc(s.of, call) }

// count counts a command. It is for nil too.
func (s *sending) count() {
	if s != nil {
		s.commands++
		s.latest = true
	}
}
