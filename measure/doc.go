// Package measure turns histories into figures: how much was done, how long it took, how it went
// over time, and whether the figures are valid.
//
// Live counts during the run. ScopeFinder and Summary read a history in two passes and give
// Figures. Judge says whether these are a valid measurement, and Threshold whether they keep a
// user's limit.
//
// Memory does not grow with the length of a run. Latencies are kept in HDR histograms with a
// limited precision. Means and maxima are exact.
//
// The package must not know any workload, database or load engine. Of the checks it knows only the
// verdicts.
package measure
