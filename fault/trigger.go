package fault

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The events of a fault. Events of a node follow its name, or any.
const (
	eventNewPrimary = "new primary"
	eventNoPrimary  = "no primary"
	eventLeaves     = "leaves"
	eventRejoins    = "rejoins"
	eventLogs       = "logs=" // and a regular expression
	// Events explains them to users.
	Events = "An EVENT is 'new primary' (another node takes writes than before), 'no primary', 'n2 leaves' or 'any leaves' (its server ends, or a fault begins on it), 'n2 rejoins' or 'any rejoins', 'n2 logs=REGEXP' or 'any logs=REGEXP' (a new line in the log of a server that assay started matches, such as logs=checkpoint.starting; the expression has no spaces); it counts once"
)

const (
	// lookEvery is the time between looks for events. primaryBound bounds the question who takes
	// writes. If nobody has answered by then, it is asked again, for at most primaryConfirm: one slow
	// answer does not mean that there is no primary.
	lookEvery      = 50 * time.Millisecond
	primaryBound   = 500 * time.Millisecond
	primaryConfirm = time.Second
)

func (p *parser) event(w word, seen map[string]bool) error {
	const want = "new primary, no primary, n2 leaves, n2 rejoins, n2 logs=REGEXP, or any in place of n2"
	if seen["when"] {
		return p.fail(w.at, "it once", "when was said already")
	}
	seen["when"] = true
	if seen["at"] || seen["every"] {
		return p.fail(w.at, "when EVENT after T", "when does not go together with at or every")
	}
	who, _ := p.next()
	what, found := p.next()
	if !found {
		return p.fail(what.at, want, "the event behind when is missing")
	}
	p.fault.When = who.text + " " + what.text
	node := who.text == TargetAny || nodeName().MatchString(who.text) || podName().MatchString(who.text) || roleName().MatchString(who.text)
	pattern, logs := strings.CutPrefix(what.text, eventLogs)
	if p.fault.When != eventNewPrimary && p.fault.When != eventNoPrimary && (!node || what.text != eventLeaves && what.text != eventRejoins && !logs) {
		return p.fail(who.at, want, "there is no event %q", p.fault.When)
	}
	if _, err := regexp.Compile(pattern); logs && (pattern == "" || err != nil) {
		return p.fail(what.at+len(eventLogs), "a regular expression (RE2), with . for a space", "%q is no regular expression", pattern)
	}
	return nil
}

// awaitedLine is the expression that the fault waits for in a log; nil for none.
func (f Fault) awaitedLine() *regexp.Regexp {
	_, what, _ := strings.Cut(f.When, " ")
	if pattern, logs := strings.CutPrefix(what, eventLogs); logs {
		return regexp.MustCompile(pattern) // which Parse has compiled
	}
	return nil
}

// awaited is the node whose event the fault waits for; empty for other events.
func (f Fault) awaited() string {
	if f.When == "" || f.awaitsPrimary() {
		return ""
	}
	who, _, _ := strings.Cut(f.When, " ")
	return strings.TrimPrefix(who, PodPrefix)
}

func (f Fault) awaitsPrimary() bool { return f.When == eventNewPrimary || f.When == eventNoPrimary }

func (f Fault) awaitsMissing(members []member) bool {
	node := f.awaited()
	return node != "" && node != TargetAny && !slices.Contains(names(members), node)
}

// due yields each fault when it is due, by its time or its event, until none is left or ctx ends.
func (r *runner) due(ctx context.Context) iter.Seq2[Occurrence, time.Time] {
	return func(yield func(Occurrence, time.Time) bool) {
		fired, stopWatch := r.watchEvents(ctx)
		defer stopWatch()
		next, stop := iter.Pull(Schedule(r.faults, r.plan.Duration))
		defer stop()
		waiting := cap(fired)
		o, timed := next()
		for timed || waiting > 0 {
			var due <-chan time.Time
			if timed {
				due = time.After(time.Until(r.plan.Start.Add(o.At)))
			}
			select {
			case <-ctx.Done():
				return
			case <-due:
				if ctx.Err() != nil || !yield(o, r.plan.Start.Add(o.At)) {
					return
				}
				o, timed = next()
			case f := <-fired:
				waiting--
				r.mu.Lock()
				delete(r.waiting, f)
				r.mu.Unlock()
				now := time.Now()
				if !yield(Occurrence{Fault: f, At: now.Sub(r.plan.Start), For: r.faults[f].length(r.plan.Duration)}, now) {
					return
				}
			}
		}
	}
}

// watchEvents looks for events, and sends the index of each fault whose event and time have come.
// stop waits for the looks.
func (r *runner) watchEvents(ctx context.Context) (fired <-chan int, stop func()) {
	primaries := false
	lines := map[string]*regexp.Regexp{}
	for i, f := range r.faults {
		if f.When != "" {
			r.waiting[i] = true
		}
		primaries = primaries || f.awaitsPrimary()
		if line := f.awaitedLine(); line != nil {
			lines[line.String()] = line
		}
	}
	due := make(chan int, len(r.waiting))
	if len(r.waiting) == 0 {
		return due, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	happened := func(event string) { r.fire(ctx, event, due) }
	looks := []func(context.Context, func(string)){r.watchNodes}
	if primaries {
		looks = append(looks, r.watchPrimary)
	}
	if logs, has := r.system.(logging); has && len(lines) > 0 {
		looks = append(looks, func(ctx context.Context, happened func(string)) { r.watchLogs(ctx, logs, lines, happened) })
	}
	for _, look := range looks {
		r.looking.Go(func() { look(ctx, happened) })
	}
	return due, func() { cancel(); r.looking.Wait() }
}

func (r *runner) fire(ctx context.Context, event string, due chan<- int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, still := range r.waiting {
		f := r.faults[i]
		if !still || f.When != event && (f.awaited() != TargetAny || !strings.HasSuffix(event, strings.TrimPrefix(f.When, TargetAny))) {
			continue
		}
		r.waiting[i] = false
		r.looking.Go(func() {
			if sleepUntil(ctx, time.Now().Add(max(f.At, 0))) {
				due <- i
			}
		})
	}
}

// watchNodes reports when a node leaves, because its server ends or a fault begins on it, and when
// it is back.
func (r *runner) watchNodes(ctx context.Context, happened func(string)) {
	away := map[string]bool{}
	for at := r.plan.Start; sleepUntil(ctx, at); at = time.Now().Add(lookEvery) {
		members, _ := r.system.members(ctx)
		for _, m := range members {
			gone := r.hit(m.name) || !r.system.running(m.name)
			switch {
			case gone == away[m.name]:
			case gone:
				happened(m.name + " " + eventLeaves)
			default:
				happened(m.name + " " + eventRejoins)
			}
			away[m.name] = gone
		}
	}
}

// logging is a System that knows the log files of its nodes.
type logging interface{ log(name string) string }

const mostLogged = 1 << 20

func (r *runner) watchLogs(ctx context.Context, logs logging, lines map[string]*regexp.Regexp, happened func(string)) {
	read := map[string]int64{}
	for at := r.plan.Start; sleepUntil(ctx, at); at = time.Now().Add(lookEvery) {
		members, _ := r.system.members(ctx)
		for _, m := range members {
			from, before := read[m.name]
			text, to := linesFrom(logs.log(m.name), from, before)
			read[m.name] = to
			for pattern, line := range lines {
				if line.Match(text) {
					happened(m.name + " " + eventLogs + pattern)
				}
			}
		}
	}
}

// linesFrom returns the whole lines of a file from a byte on, and the byte after them or, without
// them, the file's end. A file that became shorter is a new one.
func linesFrom(path string, from int64, them bool) (text []byte, to int64) {
	file, err := os.Open(path)
	if err != nil {
		return nil, from
	}
	defer file.Close()
	end, err := file.Seek(0, io.SeekEnd)
	switch {
	case err != nil:
		return nil, from
	case !them:
		return nil, end
	case end < from:
		from = 0
	}
	text, _ = io.ReadAll(io.NewSectionReader(file, from, min(end-from, mostLogged)))
	whole := bytes.LastIndexByte(text, '\n') + 1
	if whole == 0 && len(text) == mostLogged { // no line is so long
		whole = len(text)
	}
	return text[:whole], from + int64(whole)
}

func (r *runner) hit(node string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inUse[resource{node, partProcess}] != nil || r.inUse[resource{node, partNetwork}] != nil
}

// watchPrimary reports when another node takes writes, and when none does.
func (r *runner) watchPrimary(ctx context.Context, happened func(string)) {
	before, known := "", false
	for at := r.plan.Start; sleepUntil(ctx, at); at = time.Now().Add(lookEvery) {
		all, slow, err := r.askPrimaries(ctx, primaryBound)
		if slow && known {
			all, _, err = r.askPrimaries(ctx, primaryConfirm)
		}
		now := first(all)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && known:
			happened(eventNoPrimary)
		case err == nil && before != "" && now != before:
			happened(eventNewPrimary)
		}
		if known = err == nil; known {
			before = now
		}
	}
}

// askPrimaries asks who takes writes. slow means that bound ended the question.
func (r *runner) askPrimaries(ctx context.Context, bound time.Duration) (all []string, slow bool, err error) {
	asking, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	all, err = r.system.primaries(asking)
	return all, err != nil && asking.Err() != nil, err
}

// keepUnfired reports the faults whose event never came as skipped.
func (r *runner) keepUnfired(number int) {
	for i, f := range r.faults {
		still, left := r.waiting[i]
		if !left {
			continue
		}
		why := "never came"
		if !still {
			why = "came too late"
		}
		number++
		r.done = append(r.done, Injection{Number: number, Fault: f, Due: time.Now(), Skipped: true, Problem: fmt.Sprintf("skipped: it waited for %q, which %s", f.When, why)})
	}
}
