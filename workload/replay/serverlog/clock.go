package serverlog

import (
	"strconv"
	"time"
)

// clock reads times as PostgreSQL writes them: 2026-11-26 21:38:44.123 CET. A zone that is not
// UTC and no number is taken for UTC, and Zone is its name.
type clock struct {
	minute string // the last one read, up to the minute, with the zone
	base   int64
	zone   string
}

// read gives nanoseconds since 1970 and how many bytes the time takes, its zone included.
// fraction is whether it has parts of a second.
func (c *clock) read(s string) (at int64, n int, fraction, ok bool) {
	const minute = len("2006-01-02 15:04")
	if len(s) < minute+3 || s[4] != '-' || s[7] != '-' || s[10] != ' ' && s[10] != 'T' || s[13] != ':' || s[16] != ':' {
		return 0, 0, false, false
	}
	second, good := digits(s[minute+1:], 2)
	n = minute + 3
	nanos := int64(0)
	if n < len(s) && s[n] == '.' {
		fraction = true
		unit := int64(time.Second)
		for n++; n < len(s) && s[n] >= '0' && s[n] <= '9'; n++ {
			unit /= 10
			nanos += int64(s[n]-'0') * unit
		}
	}
	zone := n
	if n+1 < len(s) && s[n] == ' ' && zoneBegins(s[n+1]) {
		zone = n + 1
		n = zone + zoneLength(s[zone:])
	} else if n < len(s) && (s[n] == 'Z' || s[10] == 'T' && numeric(s[n])) {
		for n++; n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] == ':'); n++ {
		}
	}
	if !good {
		return 0, 0, false, false
	}
	if !c.same(s[:minute], s[zone:n]) {
		base, known := minuteOf(s[:minute])
		if !known {
			return 0, 0, false, false
		}
		c.minute, c.base = s[:minute]+s[zone:n], base-c.offset(s[zone:n])
	}
	return c.base + int64(second)*int64(time.Second) + nanos, n, fraction, true
}

func (c *clock) same(minute, zone string) bool {
	return len(c.minute) == len(minute)+len(zone) && c.minute[:len(minute)] == minute && c.minute[len(minute):] == zone
}

// zoneLength is how long a zone is: letters, or a sign with hours and perhaps minutes.
func zoneLength(s string) (n int) {
	if !numeric(s[0]) {
		for n < len(s) && zoneBegins(s[n]) && !numeric(s[n]) {
			n++
		}
		return n
	}
	for n = 1; n < len(s) && isDigit(s[n]); n++ {
	}
	if n+2 < len(s) && s[n] == ':' && isDigit(s[n+1]) && isDigit(s[n+2]) {
		n += 3
	}
	return n
}

func numeric(c byte) bool { return c == '+' || c == '-' }

func zoneBegins(c byte) bool { return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || numeric(c) }

// offset is how far a zone is before UTC.
func (c *clock) offset(zone string) int64 {
	if zone == "" || zone == "UTC" || zone == "GMT" || zone == "Z" {
		return 0
	}
	if !numeric(zone[0]) {
		c.zone = zone
		return 0
	}
	hours, ok := digits(zone[1:], 2)
	minutes := 0
	if ok && len(zone) >= 5 {
		minutes, _ = digits(zone[len(zone)-2:], 2)
	}
	offset := int64(hours)*int64(time.Hour) + int64(minutes)*int64(time.Minute)
	if zone[0] == '-' {
		return -offset
	}
	return offset
}

func minuteOf(s string) (int64, bool) {
	year, ok1 := digits(s, 4)
	month, ok2 := digits(s[5:], 2)
	day, ok3 := digits(s[8:], 2)
	hour, ok4 := digits(s[11:], 2)
	minute, ok5 := digits(s[14:], 2)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || year < 1990 || year > 2200 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 24 || minute > 59 {
		return 0, false
	}
	return time.Date(year, time.Month(month), day, hour, minute, 0, 0, time.UTC).UnixNano(), true
}

// digits reads a number of n digits.
func digits(s string, n int) (v int, ok bool) {
	if len(s) < n {
		return 0, false
	}
	for i := range n {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		v = v*10 + int(s[i]-'0')
	}
	return v, true
}

// epoch reads %n: seconds since 1970 with milliseconds.
func epoch(s string) (at int64, n int, ok bool) {
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] == '.') {
		n++
	}
	seconds, err := strconv.ParseFloat(s[:n], 64)
	if err != nil || seconds < 6e8 || seconds > 7e9 {
		return 0, 0, false
	}
	return int64(seconds*1000+0.5) * int64(time.Millisecond), n, true
}
