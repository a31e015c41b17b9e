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
