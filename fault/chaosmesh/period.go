package chaosmesh

import (
	"strconv"
	"strings"
	"time"
)

// period is the time between two occurrences of a schedule in the form of robfig/cron, which Chaos
// Mesh uses. ofDay means that it goes by the wall clock. ok is false if the times are not equally
// far apart.
func period(text string) (every time.Duration, ofDay, ok bool) {
	const day = 24 * time.Hour
	if rest, is := strings.CutPrefix(strings.TrimSpace(text), "@every "); is {
		every, err := time.ParseDuration(strings.TrimSpace(rest))
		return every, false, err == nil && every > 0
	}
	if every, is := map[string]time.Duration{"@hourly": time.Hour, "@daily": day, "@midnight": day, "@weekly": 7 * day}[text]; is {
		return every, true, true
	}
	fields := strings.Fields(text)
	if len(fields) != 5 || fields[2] != "*" || fields[3] != "*" || fields[4] != "*" && fields[4] != "?" {
		return 0, false, false
	}
	minutes, eachMinutes, ok := step(fields[0], 60)
	hours, eachHours, okHours := step(fields[1], 24)
	switch {
	case !ok || !okHours:
		return 0, false, false
	case eachMinutes && eachHours && hours == 1:
		return time.Duration(minutes) * time.Minute, true, true
	case !eachMinutes && eachHours:
		return time.Duration(hours) * time.Hour, true, true
	case !eachMinutes:
		return day, true, true
	}
	return 0, false, false
}

// step reads a field of a cron expression: *, */N (each), or a number. It returns false if N does
// not divide most, since the steps are then not equal.
func step(field string, most int) (n int, each, ok bool) {
	if field == "*" {
		return 1, true, true
	}
	digits, each := strings.CutPrefix(field, "*/")
	n, err := strconv.Atoi(digits)
	if each {
		return n, true, err == nil && n > 0 && n < most && most%n == 0
	}
	return n, false, err == nil && n >= 0 && n < most
}
