//go:build !unix

package load

// processorSeconds is known only on Unix.
func processorSeconds() float64 { return -1 }
