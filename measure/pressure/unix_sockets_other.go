//go:build !linux

package pressure

func (c *connections) enterUnix() {}
