package replay

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/load"
	"assay/store"
	"assay/workload/replay/recording"
)

func recordingOf(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r")
	text := `{"recording":1,"dialect":"postgres"}` + "\n" + strings.Join(lines, "\n") + "\n"
	expect.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestTheIndex(t *testing.T) {
	x, err := readIndex(recordingOf(t,
		`{"s":1,"t":0,"connect":"a@b"}`, `{"s":1,"t":5,"d":10,"q":"select * from t where a = 1"}`, `{"s":1,"t":20,"disconnect":true}`,
		`{"s":2,"t":4,"q":"select * from t where a = 2"}`,
		`{"s":3,"t":30,"connect":"a@b"}`, `{"s":3,"t":31,"q":"update u set a = 1"}`))
	expect.NoError(t, err)
	if x.operations != 6 || len(x.lanes) != 2 || len(x.lanes[1]) != 2 || x.lanes[1][1].number != 3 || len(x.kinds) != 3 {
		t.Errorf("%d operations, lanes %+v, statements %q", x.operations, x.lanes, x.kinds)
	}
	if strings.Join(x.touched.Read, " ") != "t" || strings.Join(x.touched.Written, " ") != "u" {
		t.Errorf("touched %+v", x.touched)
	}
}

func TestRecordingsThatCannotBeReplayed(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{nil, "no statement"},
		{[]string{`{"s":1,"t":0,"q":"a"}`, `{"s":2,"t":0,"q":"a"}`, `{"s":1,"t":0,"q":"a"}`}, "line 4: the lines of a session stand together"},
		{[]string{`{"s":1,"t":0,"q":"a"}`, `{"s":1,"t":0,"connect":"x"}`}, "connects once"},
		{[]string{`{"s":1,"t":5,"q":"a"}`, `{"s":1,"t":4,"q":"a"}`}, "back in time"},
	} {
		_, err := readIndex(recordingOf(t, c.lines...))
		if wrong := (*recording.FormatError)(nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.lines, err)
		}
	}
}

// A replay changes the tables that are there: it is refused unless the user has said so.
func TestAReplayNeedsConsent(t *testing.T) {
	c := &Config{File: recordingOf(t, `{"s":1,"t":0,"q":"delete from orders"}`), Speed: "1"}
	wrong := (*store.OptionError)(nil)
	if err := c.Validate(); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "orders") || !strings.Contains(err.Error(), "--use-existing") {
		t.Errorf("error %v", err)
	}
	c.UseExisting()
	expect.NoError(t, c.Validate())
	for _, speed := range []string{"0", "-1", "NaN", "fast"} {
		c.Speed = speed
		if err := c.Validate(); !errors.As(err, &wrong) {
			t.Errorf("--speed %s: %v", speed, err)
		}
	}
}

// laneOf replays a recording without a database, as far as what comes next is concerned.
func laneOf(t *testing.T, path string, speed float64) *lane {
	t.Helper()
	x, err := readIndex(path)
	expect.NoError(t, err)
	file, err := os.Open(path)
	expect.NoError(t, err)
	expect.AtEnd(t, file.Close)
	w := &Work{config: Config{File: path}, index: x, file: file, speed: speed}
	if speed == 0 {
		w.order = newOrder(x.lanes)
	}
	return &lane{work: w, sessions: x.lanes[0], file: file}
}

func TestALaneGivesEachOperationOnce(t *testing.T) {
	path := recordingOf(t, `{"s":1,"t":0,"connect":"a@b"}`, `{"s":1,"t":5,"q":"begin"}`, `{"s":1,"t":6,"q":"update u set a = 1"}`, `{"s":1,"t":7,"d":1,"q":"commit"}`,
		`{"s":1,"t":9,"q":"select 1"}`, `{"s":1,"t":20,"disconnect":true}`, `{"s":2,"t":30,"q":"select 2"}`)
	for _, speed := range []float64{2, 0} {
		l := laneOf(t, path, speed)
		var got []string
		var due []int64
		for {
			at, ok := l.Due(t.Context(), 0)
			if !ok {
				break
			}
			text := l.now.Text
			if l.connect {
				text = "connect"
			}
			got, due = append(got, text), append(due, at)
		}
		if strings.Join(got, ", ") != "connect, begin, update u set a = 1, commit, select 1, connect, select 2" || l.err != nil {
			t.Errorf("at speed %v: %q, %v", speed, got, l.err)
		}
		if want := []int64{0, 2.5e6, 3e6, 3.5e6, 4.5e6, 15e6, 15e6}; speed == 2 && !equal(due, want) || speed == 0 && due[3] != load.AtOnce {
			t.Errorf("at speed %v they are due at %v, want %v", speed, due, want)
		}
	}
}

func equal(a, b []int64) bool {
	for i := range a {
		if len(a) != len(b) || a[i] != b[i] {
			return false
		}
	}
	return true
}

// Without pauses a transaction waits for those that had ended before it began, and for no
// others.
func TestTheOrderOfTransactions(t *testing.T) {
	o := newOrder([][]session{{{begin: 0}}, {{begin: 0}}})
	o.next(0, 10)
	o.next(1, 30)
	ended, end := context.WithCancel(t.Context())
	end()
	if !o.wait(t.Context(), 0, 5) || !o.wait(t.Context(), 1, 9) {
		t.Error("one waits that overlapped with the other")
	}
	if o.wait(ended, 1, 20) {
		t.Error("a wait that was ended says that the transaction may begin")
	}
	done := make(chan bool)
	go func() { done <- o.wait(t.Context(), 1, 20) }()
	o.over(0)
	if !<-done || o.ends[0] != math.Inf(1) {
		t.Error("it does not begin when the other has ended")
	}
}

func TestErrorsAreShownWithoutValues(t *testing.T) {
	got := withoutValues(`ERROR: duplicate key value violates unique constraint "k" (SQLSTATE 23505) Key (id)=(secret value) 'x`)
	if strings.Contains(got, "secret") || !strings.Contains(got, "23505") || !strings.Contains(got, "duplicate key") {
		t.Errorf("%s", got)
	}
}
