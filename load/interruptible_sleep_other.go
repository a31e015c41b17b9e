//go:build !linux

package load

func newAlarm() alarm { return newTimerAlarm() }
