package quantity

import (
	"math"
	"testing"
	"time"
)

func TestFigure(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1: "1.00", 7.034: "7.03", 9.999: "10.0", 45.25: "45.2", 99.96: "100",
		999.6: "1,000", 2263.4: "2,263", 0.01234: "0.0123", 0.0009: "0.0009", -12.34: "-12.3", 1234567.8: "1,234,568",
		math.Inf(1): None, 1e18: "1e+18"} {
		if got := Figure(v); got != want {
			t.Errorf("Figure(%v) is %q, want %q", v, got, want)
		}
	}
	if got := Figure(math.NaN()); got != None {
		t.Errorf("Figure(NaN) is %q", got)
	}
	for v, want := range map[float64]string{60: "60", 2.5: "2.5", 100: "100", 1000: "1,000", 0: "0", 0.2: "0.2", 1e18: "1e+18"} {
		if got := Short(v); got != want {
			t.Errorf("Short(%v) is %q, want %q", v, got, want)
		}
	}
}

func TestUnits(t *testing.T) {
	for ms, want := range map[float64]string{0: "0 ms", 0.0012: "1.20 µs", 0.41: "410 µs", 0.99951: "1.00 ms", 0.9994: "999 µs", 7.03: "7.03 ms",
		162.4: "162 ms", 999.4: "999 ms", 999.96: "1.00 s", 11020: "11.0 s", 2495063: "2,495 s"} {
		if got := Milliseconds(ms); got != want {
			t.Errorf("Milliseconds(%v) is %q, want %q", ms, got, want)
		}
	}
	for s, want := range map[float64]string{0: "0 s", 0.81: "810 ms", 4.2: "4.2 s", 59.96: "60 s", 60: "1 min", 75: "1 min 15 s",
		3600: "1 h", 8123.4: "2 h 15 min", 86400: "1 d", 112320: "1 d 7 h", 3605: "1 h 5 s", math.Inf(1): None} {
		if got := Seconds(s); got != want {
			t.Errorf("Seconds(%v) is %q, want %q", s, got, want)
		}
	}
	for d, want := range map[time.Duration]string{time.Minute: "1m", 90 * time.Second: "1m30s", 2 * time.Hour: "2h", time.Hour + time.Minute: "1h1m", 0: "0s", 1500 * time.Millisecond: "1.5s"} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%v) is %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.00 kB", 999_960: "1.00 MB", 31_457_280: "31.5 MB",
		71e9: "71.0 GB", 1_234_567_890_123: "1.23 TB", 61e15: "61,000 TB"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) is %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 KiB", 512 << 10: "512 KiB", 400 << 20: "400 MiB", 16 << 30: "16 GiB", 1536 << 30: "1.5 TiB",
		1000 << 20: "1,000 MiB", 1023 << 20: "1,023 MiB"} {
		if got := Memory(n); got != want {
			t.Errorf("Memory(%d) is %q, want %q", n, got, want)
		}
	}
}
