package plots

// Number writes a value as the figures do: three digits with a unit prefix,
// such as 12.3k.
func Number(v float64) string { return number(v) }

// Duration writes seconds in the unit that keeps them short, as the figures
// do.
func Duration(s float64) string { return duration(s) }
