package binlog

import "testing"

func TestCountGTIDs(t *testing.T) {
	const a, b = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4e11fa47-71ca-11e1-9e33-c80aa9429562"
	for set, want := range map[string]int64{
		"": 0, a + ":1": 1, a + ":1-5": 5, a + ":1-5:7:9-10": 8, a + ":1-5,\n" + b + ":2-3": 7, a + ":tag:1-3:other:4": 4,
	} {
		if n, err := CountGTIDs(set); err != nil || n != want {
			t.Errorf("%q: %d, %v; want %d", set, n, err, want)
		}
	}
	for _, set := range []string{a + ":5-1", a + ":1-x"} {
		if n, err := CountGTIDs(set); err == nil {
			t.Errorf("%q: %d", set, n)
		}
	}
}

func TestRefusesWrites(t *testing.T) {
	for value, want := range map[string]bool{"0": false, "OFF": false, "1": true, "ON": true, "NO_LOCK": true, "NO_LOCK_NO_ADMIN": true} {
		if got := refusesWrites(value); got != want {
			t.Errorf("read_only=%s: %v, want %v", value, got, want)
		}
	}
}

func TestSequence(t *testing.T) {
	for position, want := range map[string]int64{"": 0, "0-1-57": 57} {
		if n, err := sequence(position); err != nil || n != want {
			t.Errorf("%q: %d, %v; want %d", position, n, err, want)
		}
	}
	for _, position := range []string{"0-1-57,1-1-3", "57", "0-1-x"} {
		if n, err := sequence(position); err == nil {
			t.Errorf("%q: %d", position, n)
		}
	}
}
