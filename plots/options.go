package plots

import (
	"cmp"
	"fmt"

	"gonum.org/v1/plot/vg"
)

// Options change how a figure looks. The zero value leaves it as it is.
type Options struct {
	Title         string    // in place of the figure's own
	Width, Height vg.Length // 0: the figure's own
}

// Apply changes a figure. It fails for a side below 5 cm or above 200 cm.
func (o Options) Apply(fig Figure) error {
	if o.Width == 0 && o.Height == 0 {
		w, h := fig.Size()
		o.Width, o.Height = w, h
	} else if o.Width < 5*vg.Centimeter || o.Height < 5*vg.Centimeter || o.Width > 200*vg.Centimeter || o.Height > 200*vg.Centimeter {
		return bad("size", fmt.Sprintf("%.3g × %.3g cm", o.Width/vg.Centimeter, o.Height/vg.Centimeter), "5 to 200 cm each way")
	}
	switch f := fig.(type) {
	case *Chart:
		f.Title, f.Width, f.Height = cmp.Or(o.Title, f.Title), o.Width, o.Height
	case *Panels:
		f.Title = cmp.Or(o.Title, f.Title)
		f.resize(o.Width, o.Height)
	}
	return nil
}
