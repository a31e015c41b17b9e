// Package drivertest is the conformance suite that every driver passes: what the
// workloads ask of a Store, tested on a real database, with cut, silent and
// restarted servers for those that have one.
//
// It must not know any driver: a driver's test hands it a Harness.
package drivertest
