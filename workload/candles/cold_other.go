//go:build !linux

package candles

import "errors"

func canDropCaches() bool { return false }

func dropCaches() error { return errors.New("the page cache can be emptied on Linux only") }
