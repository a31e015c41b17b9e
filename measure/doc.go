// Package measure turns histories into figures: how much was done, how long it
// took, how it went over time, and whether the figures may be believed.
//
// Live counts while the run goes on. ScopeFinder and Summary read a history, in two
// passes, and give Figures. Judge reports whether these are a measurement at all,
// and Threshold whether they keep a limit that the user set.
//
// Memory does not grow with the length of a run. Latencies are kept in HDR
// histograms, whose values are true within the precision stated there; means
// and maxima are exact.
//
// The package must not know any workload, database or load engine. Of the checks it
// knows the verdicts alone.
package measure
