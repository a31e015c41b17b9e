package main

import (
	"strings"
	"testing"

	"assay/workload/candles"
)

// TestFlagsOfRounds: what means nothing in a run of rounds is refused, with the
// flag's name.
func TestFlagsOfRounds(t *testing.T) {
	for _, name := range candles.Definition().Unused {
		cmd := newRunOf("test", candles.Definition())
		flag := cmd.Flags().Lookup(name)
		if flag == nil {
			t.Errorf("there is no flag --%s", name)
			continue
		}
		flag.Changed = true
		if err := cmd.RunE(cmd, nil); err == nil || !strings.Contains(err.Error(), "--"+name) {
			t.Errorf("--%s: %v", name, err)
		}
	}
}

// TestCandleDefaults are those of the published experiment.
func TestCandleDefaults(t *testing.T) {
	cmd := newRunOf("test", candles.Definition())
	for name, want := range map[string]string{"candles": "1400000", "tickers": "200", "queries": "10000", "intervals": "10", "clients": "1", "cold": "false"} {
		if flag := cmd.Flags().Lookup(name); flag == nil || flag.DefValue != want {
			t.Errorf("--%s: %+v, want %s", name, flag, want)
		}
	}
	if candles.LoadDefaults().Timeout <= 0 {
		t.Error("an attempt has no time limit")
	}
}
