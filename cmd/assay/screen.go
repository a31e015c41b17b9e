package main

import (
	"io"
	"os"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"assay/runner"
)

// screen shows on a terminal how a run goes, in a few lines that are drawn again in
// place. It reads nothing, changes no mode of the terminal, hides no cursor and needs
// no other screen, so that there is nothing to restore however the program ends. What
// is written to standard error meanwhile comes above it.
type screen struct {
	silence
	out     *output
	status  *runner.Status
	program *tea.Program
	ended   chan struct{}

	mu      sync.Mutex
	lines   []string // to be printed above
	heading string
	once    sync.Once
}

// progress is how a run's progress is shown: on a screen if there is a terminal for it
// and nobody wants lines, whose status is then kept.
func (f *runFlags) progress(stderr io.Writer) (closingProgress, *runner.Status) {
	if s := f.screen(stderr); s != nil {
		return s, s.status
	}
	return newProgress(stderr, f.quiet), nil
}

// screen starts a screen; nil if there is to be none.
func (f *runFlags) screen(stderr io.Writer) *screen {
	out, ours := stderr.(*output)
	kind := os.Getenv("TERM")
	if !ours || !isTerminal(stderr) || f.plain || f.quiet || kind == "" || kind == "dumb" {
		return nil
	}
	s := &screen{silence: silence{stderr}, out: out, status: &runner.Status{}, ended: make(chan struct{})}
	s.program = tea.NewProgram(&screenModel{screen: s, width: textWidth(stderr)}, tea.WithInput(nil), tea.WithOutput(out.file), tea.WithoutSignalHandler())
	out.screen.Store(s)
	go func() {
		defer close(s.ended)
		_, _ = s.program.Run() // a screen that cannot be drawn is no reason to end
	}()
	return s
}

// print has a text shown above the screen.
func (s *screen) print(text string) {
	s.mu.Lock()
	s.lines = append(s.lines, strings.TrimRight(text, "\n"))
	s.mu.Unlock()
	s.program.Send(linesMessage{})
}

func (s *screen) takeLines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.lines
	s.lines = nil
	return lines
}

// head sets what the screen says of the series.
func (s *screen) head(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heading = text
}

func (s *screen) headed() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heading
}

// close takes the screen away. What was to be printed above it stays.
func (s *screen) close() {
	s.once.Do(func() {
		s.program.Send(closeMessage{})
		<-s.ended
		s.out.screen.Store(nil)
		for _, line := range s.takeLines() {
			_, _ = io.WriteString(s.out, line+"\n") // the terminal may be gone
		}
	})
}

// The messages of the screen.
type (
	linesMessage   struct{}
	printedMessage struct{}
	closeMessage   struct{}
	tickMessage    struct{}
)

// screenTick is how often the screen is drawn anew.
const screenTick = 250 * time.Millisecond

// screenModel is what bubbletea draws.
type screenModel struct {
	screen            *screen
	width, height     int
	printing, closing bool
}

func tick() tea.Cmd { return tea.Tick(screenTick, func(time.Time) tea.Msg { return tickMessage{} }) }

// Init implements tea.Model.
func (m *screenModel) Init() tea.Cmd { return tick() }

// Update implements tea.Model.
func (m *screenModel) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch message := message.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = message.Width, message.Height
	case tickMessage:
		return m, tick()
	case linesMessage:
		return m, m.print()
	case printedMessage:
		m.printing = false
		return m, m.print()
	case closeMessage:
		m.closing = true
		return m, m.print()
	}
	return m, nil
}

// print prints what is to stand above, one batch after the other, and then ends if that
// was asked for.
func (m *screenModel) print() tea.Cmd {
	if m.printing {
		return nil
	}
	if lines := m.screen.takeLines(); len(lines) > 0 {
		m.printing = true
		return tea.Sequence(tea.Println(strings.Join(lines, "\n")), func() tea.Msg { return printedMessage{} })
	}
	if m.closing {
		return tea.Quit
	}
	return nil
}

// View implements tea.Model. The last line is the cursor's.
func (m *screenModel) View() tea.View {
	if m.closing {
		v := tea.NewView("")
		v.Cursor, v.DisableBracketedPasteMode = tea.NewCursor(0, 0), true
		return v
	}
	live := m.screen.status.Live()
	lines := drawStatus(&live, m.screen.headed(), m.width, m.height-1, time.Now())
	v := tea.NewView(strings.Join(lines, "\n") + "\n")
	v.Cursor, v.DisableBracketedPasteMode = tea.NewCursor(0, len(lines)), true
	return v
}
