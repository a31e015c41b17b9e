//go:build !unix

package load

// processorSeconds is known on Unix alone.
func processorSeconds() float64 { return -1 }
