//go:build !linux

package runner

// machine is unknown here, so that a lease which a killed run left is waited for
// until it expires.
func machine() string { return "" }

func processStart(int) (start string, gone bool) { return "", false }
