package report

import (
	"math"
	"strings"
	"testing"
)

func TestReadable(t *testing.T) {
	for text, want := range map[string]string{"": "", "999": "999", "4096": "4,096", "100000": "100,000", "12345.67": "12,345.67",
		"2000, each of the last 1000 of a ticker": "2,000, each of the last 1,000 of a ticker", "20000 each": "20,000 each",
		"1..3000": "1..3000", "zipf:0.99": "zipf:0.99", "10/s": "10/s", "v1234": "v1234", "1234.": "1234.", "-": "-"} {
		if got := readableText(text); got != want {
			t.Errorf("readableText(%q) is %q, want %q", text, got, want)
		}
	}
}

func TestFigure(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1: "1.00", 7.034: "7.03", 9.999: "10.0", 45.25: "45.2", 99.96: "100",
		999.6: "1,000", 2263.4: "2,263", 0.01234: "0.0123", 0.0009: "0.0009", -12.34: "-12.3", 1234567.8: "1,234,568",
		math.Inf(1): none, 1e18: "1e+18"} {
		if got := figure(v); got != want {
			t.Errorf("figure(%v) is %q, want %q", v, got, want)
		}
	}
	if got := figure(math.NaN()); got != none {
		t.Errorf("figure(NaN) is %q", got)
	}
	for v, want := range map[float64]string{60: "60", 2.5: "2.5", 100: "100", 1000: "1,000", 0: "0", 0.2: "0.2", 1e18: "1e+18"} {
		if got := short(v); got != want {
			t.Errorf("short(%v) is %q, want %q", v, got, want)
		}
	}
}

func TestUnits(t *testing.T) {
	space := func(s string) string { return strings.ReplaceAll(s, nbsp, " ") }
	for ms, want := range map[float64]string{0: "0 ms", 0.0012: "1.20 µs", 0.41: "410 µs", 0.99951: "1.00 ms", 0.9994: "999 µs", 7.03: "7.03 ms",
		162.4: "162 ms", 999.4: "999 ms", 999.96: "1.00 s", 11020: "11.0 s", 2495063: "2,495 s"} {
		if got := space(millis(ms)); got != want {
			t.Errorf("millis(%v) is %q, want %q", ms, got, want)
		}
	}
	for s, want := range map[float64]string{0: "0 s", 0.81: "810 ms", 4.2: "4.2 s", 59.96: "60 s", 60: "1 min", 75: "1 min 15 s",
		3600: "1 h", 8123.4: "2 h 15 min", 86400: "1 d", 112320: "1 d 7 h", 3605: "1 h 5 s", math.Inf(1): none} {
		if got := space(seconds(s)); got != want {
			t.Errorf("seconds(%v) is %q, want %q", s, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.00 kB", 999_960: "1.00 MB", 31_457_280: "31.5 MB",
		71e9: "71.0 GB", 1_234_567_890_123: "1.23 TB", 61e15: "61,000 TB"} {
		if got := space(size(n)); got != want {
			t.Errorf("size(%d) is %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 KiB", 512 << 10: "512 KiB", 400 << 20: "400 MiB", 16 << 30: "16 GiB", 1536 << 30: "1.5 TiB",
		1000 << 20: "1,000 MiB", 1023 << 20: "1,023 MiB"} {
		if got := space(memory(n)); got != want {
			t.Errorf("memory(%d) is %q, want %q", n, got, want)
		}
	}
}

// TestPercent holds that one operation of very many is never rounded away.
func TestPercent(t *testing.T) {
	for _, c := range []struct {
		part, whole int64
		want        string
	}{{0, 0, none}, {0, 10, "0 %"}, {10, 10, "100 %"}, {1, 3, "33.33 %"}, {1, 1_000_000, "<0.01 %"},
		{999_999, 1_000_000, ">99.99 %"}, {math.MaxInt64 - 1, math.MaxInt64, ">99.99 %"}, {1, math.MaxInt64, "<0.01 %"}} {
		if got := strings.ReplaceAll(percent(c.part, c.whole), nbsp, " "); got != c.want {
			t.Errorf("percent(%d, %d) is %q, want %q", c.part, c.whole, got, c.want)
		}
	}
}

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{"a\nb\tc": "a b c", "\x1b[31mred": "\uFFFD[31mred", "é✓": "é✓",
		"a\u202eb": "a\uFFFDb", "\u2028": " ", "\x00": "\uFFFD", "\xff": "\uFFFD"} {
		if got := plain(text); got != want {
			t.Errorf("plain(%q) is %q, want %q", text, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{{"", 10, ""}, {"short", 10, "short"}, {"two words", 5, "two|words"}, {"exactly ten", 7, "exactly|ten"},
		{"unbreakable", 4, "unbr|eaka|ble"}, {"a verylongword b", 6, "a|verylo|ngword|b"}, {"ends with space   ", 4, "ends|with|spac|e"},
		{"30" + nbsp + "s and", 6, "30" + nbsp + "s|and"}, {"é é é", 3, "é é|é"}, {"x", 0, "x"}, {"far   apart", 6, "far|apart"}} {
		if got := strings.Join(wrap(c.text, c.width), "|"); got != c.want {
			t.Errorf("wrap(%q, %d) is %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

// TestMachinesAreSharedOrNot says whose the processors and the memory are.
func TestMachinesAreSharedOrNot(t *testing.T) {
	nodes, cpus, ram := 5, 2.0, int64(8<<30)
	d := Database{Nodes: &nodes, CPUsPerNode: &cpus, MemoryPerNode: &ram, SharedCPUs: true, SharedMemory: true}
	for _, want := range []string{"5 nodes, all nodes share 2 vCPU and 8\u00a0GiB RAM", "5 nodes, each node 2 vCPU, all nodes share 8\u00a0GiB RAM"} {
		if got := machines(&d); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		d.SharedCPUs = false
	}
}
