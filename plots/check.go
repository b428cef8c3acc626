package plots

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"knee/data"
)

// largest is the largest magnitude that is drawn. No quantity of a training job comes
// near it, and the ticks of an axis cannot be computed beyond it.
const largest = 1e100

// bad returns the error for a field of a spec: "figure:series[0].name: …".
func bad(field, found, want string) error {
	return &data.InputError{Source: data.Source{File: "figure", Column: field}, Found: found, Want: want}
}

// finite checks that a number can be drawn.
func finite(field string, v float64) error {
	if math.IsNaN(v) || math.Abs(v) > largest {
		return bad(field, show(v), "a finite number")
	}
	return nil
}

// positive checks that a number can be drawn on a logarithmic axis.
func positive(field string, v float64) error {
	if !(v > 0) || v > largest {
		return bad(field, show(v), "a finite number > 0")
	}
	if v < 1/largest { // its axis would begin at zero
		return bad(field, show(v), "at least "+show(1/largest))
	}
	return nil
}

// show writes a number for an error.
func show(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// checkFinite refuses a spec that holds a number which cannot be drawn, and names
// its field.
func checkFinite(field string, spec any) error { return walk(field, reflect.ValueOf(spec)) }

func walk(field string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Float64:
		return finite(field, v.Float())
	case reflect.Pointer:
		if !v.IsNil() {
			return walk(field, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := walk(fmt.Sprintf("%s[%d]", field, i), v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name := strings.TrimPrefix(field+"."+strings.ToLower(v.Type().Field(i).Name), ".")
			if err := walk(name, v.Field(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPoints checks measured points. A failed point needs only its X.
func checkPoints(field string, pts []Point, check func(string, float64) error) error {
	for i, p := range pts {
		at := fmt.Sprintf("%s[%d]", field, i)
		err := check(at+".x", p.X)
		if p.ok() {
			err = cmp.Or(err, check(at+".y", p.Y))
		}
		if p.ok() && (p.Lo != 0 || p.Hi != 0) {
			err = cmp.Or(err, checkInterval(at, p.Lo, p.Y, p.Hi))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkBands checks that the X of a curve ascend, and that every mean is inside
// its interval.
func checkBands(field string, curve []Band, check func(string, float64) error) error {
	for i, b := range curve {
		at := fmt.Sprintf("%s[%d]", field, i)
		if err := cmp.Or(check(at+".x", b.X), check(at+".mean", b.Mean), checkInterval(at, b.Lo, b.Mean, b.Hi)); err != nil {
			return err
		}
		if i > 0 && b.X <= curve[i-1].X {
			return bad(at+".x", show(b.X), "more than "+show(curve[i-1].X)+", the x before it")
		}
	}
	return nil
}

// checkInterval checks that lo ≤ mean ≤ hi, up to rounding, all finite.
func checkInterval(field string, lo, mean, hi float64) error {
	err := cmp.Or(finite(field+".lo", lo), finite(field+".hi", hi))
	if slack := 1e-9 * math.Abs(mean); err == nil && (lo > mean+slack || hi < mean-slack) {
		return bad(field, fmt.Sprintf("interval %s to %s around %s", show(lo), show(hi), show(mean)), "lo ≤ value ≤ hi")
	}
	return err
}

// checkName refuses an empty name in the legend.
func checkName(field, name string) error {
	if name == "" {
		return bad(field, "", "a name for the legend")
	}
	return nil
}

// checkDrawable refuses a figure without a value to draw, and names the statuses
// of the measurements.
func checkDrawable(field string, pts []Point, curves int) error {
	if curves > 0 {
		return nil
	}
	count := map[data.Status]int{}
	for _, p := range pts {
		if p.ok() {
			return nil
		}
		count[p.Status]++
	}
	if len(pts) == 0 {
		return bad(field, "nothing", "at least one measured point or curve")
	}
	var found []string
	for _, s := range data.Statuses() {
		if n := count[s]; n > 0 {
			found = append(found, fmt.Sprintf("%d %s", n, statusLabel(s)))
		}
	}
	return bad(field, strings.Join(found, ", "), "at least one measurement that is ok, or a curve")
}
