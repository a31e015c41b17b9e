package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"assay/internal/expect"
)

func some[T any](v T) *T { return &v }

// records are those of several sessions at the same time.
func records() (all []Record) {
	for s := int64(1); s <= 3; s++ {
		all = append(all, Record{Session: s, At: float64(s), Connect: some(fmt.Sprintf("u%d@d", s))})
	}
	for i := range 200 {
		s := int64(i%3 + 1)
		r := Record{Session: s, At: float64(10 + i), Took: some(0.125), Text: fmt.Sprintf("select %d -- <&> \"x\"\n", i)}
		switch i % 4 {
		case 1:
			r.Parameters, r.Prepared = []*string{some("a"), nil}, "S_1"
		case 2:
			r.Parameters, r.Took = []*string{}, nil
		case 3:
			r.Error, r.Code, r.Rows = "division by zero", "22012", some(int64(3))
		}
		all = append(all, r)
	}
	return append(all, Record{Session: 2, At: 999.5, Disconnect: true})
}

// write is what a Writer makes of records, with so many bytes kept in memory.
func write(t *testing.T, limit int, cut int64) []byte {
	t.Helper()
	folder := t.TempDir()
	w := NewWriter(folder)
	w.limit = limit
	for i, r := range records() {
		expect.NoError(t, w.Add(&r))
		if i == 100 && cut > 0 {
			w.Cut(cut)
		}
	}
	var out bytes.Buffer
	expect.NoError(t, w.WriteTo(&out, &Head{Version: 1, Dialect: "postgres", LeftOut: map[string]int64{"b": 2, "a": 1}}), w.Close())
	left, err := os.ReadDir(folder)
	expect.NoError(t, err)
	if len(left) > 0 {
		t.Errorf("the Writer has left %s", left[0].Name())
	}
	return out.Bytes()
}

func read(t *testing.T, text []byte) (all []Record) {
	t.Helper()
	r := NewReader("x", bytes.NewReader(text), 0, 1, 4096)
	_, err := r.Head()
	expect.NoError(t, err)
	for {
		var record Record
		if err := r.Next(&record); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, record)
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	got := read(t, write(t, runBytes, 0))
	var want []Record
	for s := int64(1); s <= 3; s++ {
		for _, r := range records() {
			if r.Session == s {
				want = append(want, r)
			}
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read %d records, want %d:\n%+v", len(got), len(want), got[:3])
	}
}

func TestWhatWasPutAsideIsInOrder(t *testing.T) {
	whole := write(t, runBytes, 0)
	for _, limit := range []int{1, 1000, 5000} {
		if got := write(t, limit, 0); !bytes.Equal(got, whole) {
			t.Errorf("with %d bytes in memory the file differs", limit)
		}
	}
}

func TestACutLeavesTheConnection(t *testing.T) {
	for _, limit := range []int{runBytes, 700} {
		var before, connections int
		for _, r := range read(t, write(t, limit, 2)) {
			if r.Session == 2 && r.Text != "" && r.At < 10+97 {
				before++
			}
			if r.Session == 2 && r.Connect != nil {
				connections++
			}
		}
		if before != 0 || connections != 1 {
			t.Errorf("with %d bytes in memory %d statements before the cut and %d connections are left", limit, before, connections)
		}
	}
}

func TestATextThatIsNotUTF8IsRefused(t *testing.T) {
	w := NewWriter(t.TempDir())
	if err := w.Add(&Record{Session: 1, Text: "select '\xff'"}); !errors.Is(err, ErrText) {
		t.Errorf("error %v", err)
	}
	var out bytes.Buffer
	expect.NoError(t, w.WriteTo(&out, &Head{Version: 1, Dialect: "mysql"}))
	if n := bytes.Count(out.Bytes(), []byte("\n")); n != 1 {
		t.Errorf("%d lines are left", n)
	}
}

func TestDamagedFiles(t *testing.T) {
	head := `{"recording":1,"dialect":"postgres"}` + "\n"
	for _, c := range []struct{ text, want string }{
		{"", "empty"},
		{"{}\n", "not the head"},
		{`{"recording":2,"dialect":"postgres"}` + "\n", "newer"},
		{`{"recording":1,"dialect":"oracle"}` + "\n", "dialect"},
		{head + "x\n", "line 2: it is not a record"},
		{head + `{"s":1,"t":1,"q":"select 1"}` + "\n\n" + `{"s":0,"t":1,"q":"x"}`, "line 4: s is not"},
		{head + `{"s":1,"t":-1,"q":"x"}`, "t is not"},
		{head + `{"s":1,"t":1,"d":-1,"q":"x"}`, "d is not"},
		{head + `{"s":1,"t":1}`, "one of q"},
		{head + `{"s":1,"t":1,"q":"x","disconnect":true}`, "one of q"},
		{head + `{"s":1,"t":1,"q":"x","rows":-2}`, "rows"},
	} {
		r := NewReader("file", strings.NewReader(c.text), 0, 1, 4096)
		_, err := r.Head()
		for err == nil {
			err = r.Next(&Record{})
		}
		if wrong := (*FormatError)(nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.text, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(`{"recording":1,"dialect":"postgres"}` + "\n" + `{"s":1,"t":1,"d":2,"q":"select $1","p":["a",null],"n":"x","e":"y","c":"z","rows":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := NewReader("x", bytes.NewReader(text), 0, 1, 4096)
		_, err := r.Head()
		for err == nil {
			var record Record
			if err = r.Next(&record); err != nil {
				break
			}
			line, failed := record.appendTo(nil)
			if failed != nil {
				continue
			}
			var again Record
			expect.NoError(t, NewReader("x", bytes.NewReader(line), 0, 1, 4096).Next(&again))
			if !reflect.DeepEqual(record, again) {
				t.Errorf("%+v became %+v", record, again)
			}
		}
		if wrong := (*FormatError)(nil); !errors.Is(err, io.EOF) && !errors.As(err, &wrong) {
			t.Errorf("error %v", err)
		}
	})
}
