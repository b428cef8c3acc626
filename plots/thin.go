package plots

import "fmt"

// sampled returns every k-th of more than most points, and says so in words for
// the legend, empty if all are returned.
func sampled(pts []Point, most int) (kept []Point, note string) {
	every := (len(pts) + most - 1) / most
	if every <= 1 {
		return pts, ""
	}
	for i := 0; i < len(pts); i += every {
		kept = append(kept, pts[i])
	}
	return kept, fmt.Sprintf(", 1 of %d drawn", every)
}

// thinSlices is how many slices a line of more points than can be distinguished
// is divided into: more than a figure has columns of pixels.
const thinSlices = 2000

// thinned returns a line that looks the same in fewer points: of every slice
// of its points the first, the lowest, the highest and the last (M4 of Jugel
// et al., VLDB 2014, with slices of equally many points). A line of few points
// is returned as it is.
func thinned(xs, ys []float64) (tx, ty []float64) {
	const perSlice = 4
	if len(xs) <= perSlice*thinSlices {
		return xs, ys
	}
	for s := range thinSlices {
		from, to := s*len(xs)/thinSlices, (s+1)*len(xs)/thinSlices
		lo, hi := from, from
		for i := from; i < to; i++ {
			if ys[i] < ys[lo] {
				lo = i
			}
			if ys[i] > ys[hi] {
				hi = i
			}
		}
		last := -1
		for _, i := range []int{from, min(lo, hi), max(lo, hi), to - 1} {
			if i > last {
				tx, ty = append(tx, xs[i]), append(ty, ys[i])
				last = i
			}
		}
	}
	return tx, ty
}
