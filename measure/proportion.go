package measure

import "gonum.org/v1/gonum/stat/distuv"

// OfTries is the interval of a probability by shown successes in tries: C. Clopper, E. Pearson,
// "The use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika
// 26, 1934.
func OfTries(shown, tries int) Interval {
	k, n := float64(shown), float64(tries)
	i := Interval{Low: 0, High: 1}
	if shown > 0 {
		i.Low = distuv.Beta{Alpha: k, Beta: n - k + 1}.Quantile((1 - confidence) / 2)
	}
	if shown < tries {
		i.High = distuv.Beta{Alpha: k + 1, Beta: n - k}.Quantile((1 + confidence) / 2)
	}
	return i
}
