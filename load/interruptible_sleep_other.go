//go:build !linux

package load

// newAlarm returns an alarm of Go's timers.
func newAlarm() alarm { return newTimerAlarm() }
