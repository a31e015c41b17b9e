package cluster

import (
	"errors"
	"testing"

	"assay/internal/expect"
)

func TestWhatThisMachineDoesNotHaveIsRefused(t *testing.T) {
	for text, fits := range map[string]bool{"redis:1,cpu=1000": false, "redis:1,memory=900000GiB": false, "redis:1,cpu=0.5,memory=100MiB": true} {
		s, err := ParseSpec(text)
		expect.NoError(t, err)
		if err = s.fits(); fits != (err == nil) || !fits && !errors.As(err, new(*SpecError)) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if machineMemory() <= 0 {
		t.Error("this machine does not tell its memory")
	}
}
