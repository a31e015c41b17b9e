//go:build race

package main

// raceEnabled is true if the tests are built with the race detector.
const raceEnabled = true
