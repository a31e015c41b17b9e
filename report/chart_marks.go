package report

// ChartMark is a place of a line that matters.
type ChartMark struct {
	At   [2]float64
	Text string
}

type drawnPlace struct {
	X, Y float64
	Text string
}

// place is nil without a mark, and for a value that a logarithmic axis does not have.
func (c LineChart) place(m *ChartMark, x, y scale) *drawnPlace {
	if m == nil || c.Logarithmic && m.At[1] <= 0 {
		return nil
	}
	return &drawnPlace{tenth(x.place(c.position(m.At[0]))), tenth(y.place(c.height(m.At[1]))), plain(m.Text)}
}

func (l ChartLine) places() [][2]float64 {
	if l.Mark == nil {
		return l.Points
	}
	return append(l.Points[:len(l.Points):len(l.Points)], l.Mark.At)
}

// Label is the line's name in a legend, with its mark's text.
func (l drawnLine) Label() string {
	if l.Mark == nil {
		return l.Name
	}
	return l.Name + " (" + l.Mark.Text + ")"
}
