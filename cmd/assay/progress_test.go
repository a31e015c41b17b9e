package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"assay/internal/expect"
)

// TestReading: on a terminal a bar says how far a large history was read, and goes
// when that is over; a small one, a pipe and a file see nothing of it.
func TestReading(t *testing.T) {
	var out bytes.Buffer
	if newReading(&out, false) != nil {
		t.Error("progress is shown where no terminal is")
	}
	large := &reading{bar: bar{out: &out}, began: time.Now().Add(-time.Hour)}
	large.show(50<<20, 100<<20)
	expect.Text(t, "half of 100 MiB", out.String(), "█░", "52.4 MB of 105 MB (50%)", "1h0m0s left")
	large.show(100<<20, 100<<20)
	if text := out.String(); !strings.HasSuffix(text, "\rthe history was read, and is judged\n") {
		t.Errorf("at the end, there is %q", text)
	}
	out.Reset()
	large.show(100<<20, 100<<20)
	large.close()
	small := &reading{bar: bar{out: &out}, began: time.Now()}
	small.show(1, 1)
	small.close()
	var none *reading
	none.close()
	if out.Len() > 0 {
		t.Errorf("what was over, or short, is shown as %q", out.String())
	}
}
