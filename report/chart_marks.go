package report

// ChartMark is a place of a line that matters.
type ChartMark struct {
	At [2]float64
	// Text says what is there.
	Text string
}

// drawnPlace is a mark with a line down to the axis.
type drawnPlace struct {
	X, Y float64
	Text string
}

// place is where a mark is drawn; nil if that is nowhere.
func (c LineChart) place(m *ChartMark, x, y scale) *drawnPlace {
	if m == nil || c.Logarithmic && m.At[1] <= 0 {
		return nil
	}
	return &drawnPlace{tenth(x.place(c.position(m.At[0]))), tenth(y.place(c.height(m.At[1]))), plain(m.Text)}
}

// places are the points of a line and its mark.
func (l ChartLine) places() [][2]float64 {
	if l.Mark == nil {
		return l.Points
	}
	return append(l.Points[:len(l.Points):len(l.Points)], l.Mark.At)
}

// Label is the line's name in a legend, with what its mark says.
func (l drawnLine) Label() string {
	if l.Mark == nil {
		return l.Name
	}
	return l.Name + " (" + l.Mark.Text + ")"
}
