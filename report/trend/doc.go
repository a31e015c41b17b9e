// Package trend finds where a series of figures changed, such as a nightly run's throughput. It
// uses the E-divisive means of Matteson and James, with the t-test and the windows of Hunter (now
// Apache Otava) for a reproducible answer.
//
// It is given numbers and must know nothing of runs.
//
// D. S. Matteson, N. A. James, "A Nonparametric Approach for Multiple Change Point Analysis of
// Multivariate Data", arXiv 1306.4933 (2014); D. Daly et al., "The Use of Change Point Detection
// to Identify Software Performance Regressions in a Continuous Integration System", arXiv
// 2003.00584, and its sequel, arXiv 2101.10231; M. Fleming et al., "Hunter: Using Change Point
// Detection to Hunt for Performance Regressions", ICPE 2023.
package trend
