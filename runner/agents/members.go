package agents

import (
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"assay/history"
)

// eventClock is a comparison of clocks in an agent's history; Detail is a sample.
const eventClock = "clock"

func clockEvent(at int64, s sample) (history.Event, error) {
	text, err := json.Marshal(s)
	return history.Event{At: at, Name: eventClock, Detail: string(text)}, err
}

func sampleOf(e history.Event) (s sample, is bool, err error) {
	if e.Name != eventClock {
		return s, false, nil
	}
	if err := json.Unmarshal([]byte(e.Detail), &s); err != nil {
		return s, true, fmt.Errorf("a comparison of clocks cannot be read: %w", err)
	}
	return s, true, nil
}

// shared divides n clients among agents in contiguous parts, as equally as possible.
func shared(n, agents int) []Share {
	all := make([]Share, agents)
	first := 0
	for i := range all {
		clients := n / agents
		if i < n%agents {
			clients++
		}
		all[i] = Share{Number: i, Of: agents, First: first, Clients: clients, All: n}
		first += clients
	}
	return all
}

func sharedRounds(rounds []int, agents int) []Share {
	all := make([]Share, agents)
	before := 0
	for _, n := range rounds {
		for i, part := range shared(n, agents) {
			s := &all[i]
			s.Number, s.Of, s.Clients = part.Number, part.Of, max(s.Clients, part.Clients)
			s.Rounds = append(s.Rounds, Span{before + part.First, part.Clients})
		}
		before += n
	}
	for i := range all {
		all[i].All = before
	}
	return all
}

// spans are the agent's clients, including observers.
func (m *Member) spans() []Span {
	all := m.Share.spans()
	if m.Observers > 0 {
		all = append(slices.Clone(all), Span{m.FirstObserver, m.Observers})
	}
	return all
}

func (m *Member) numbers() (all []history.ClientNumbers) {
	for _, s := range m.spans() {
		if s.Clients > 0 {
			all = append(all, history.ClientNumbers{First: s.First, Count: s.Clients})
		}
	}
	return all
}

func (m *Member) clients() iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, s := range m.spans() {
			for i := range s.Clients {
				if !yield(s.First + i) {
					return
				}
			}
		}
	}
}

func (m *Member) owns(client int) bool {
	return slices.ContainsFunc(m.spans(), func(s Span) bool { return client >= s.First && client < s.First+s.Clients })
}

func writeMembers(folder string, all []Member) error {
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	partial := filepath.Join(folder, fileAgents+".partial")
	if err := os.WriteFile(partial, text, 0o644); err != nil {
		return err
	}
	return os.Rename(partial, filepath.Join(folder, fileAgents))
}

func readMembers(folder string) (all []Member, err error) {
	text, err := os.ReadFile(filepath.Join(folder, fileAgents))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", fileAgents, err)
	}
	for i, m := range all {
		if m.Number != i || m.Clients < 0 || m.First < 0 || m.All < m.First+m.Clients || m.Observers < 0 || m.FirstObserver < 0 {
			return nil, fmt.Errorf("%s: agent %d cannot be right", fileAgents, i+1)
		}
		for _, s := range m.Rounds {
			if s.First < 0 || s.Clients < 0 || m.All < s.First+s.Clients {
				return nil, fmt.Errorf("%s: a round of agent %d cannot be right", fileAgents, i+1)
			}
		}
	}
	return all, nil
}
