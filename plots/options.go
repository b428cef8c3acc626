package plots

import (
	"fmt"

	"gonum.org/v1/plot/vg"
)

// Options change how a figure looks. The zero value leaves it as it is.
type Options struct {
	Title         string    // in place of the figure's own
	Width, Height vg.Length // 0: the figure's own
}

// In returns the figure with the options; it may change the figure itself. It
// fails if the size of the figure follows from what it shows, such as that of a
// heat map from its cells.
func (o Options) In(fig Figure) (Figure, error) {
	if o.Title != "" {
		switch f := fig.(type) {
		case *Chart:
			f.Title = o.Title
		case *Panels:
			f.Title = o.Title
		case *heatFigure:
			f.Title = o.Title
		}
	}
	if o.Width == 0 && o.Height == 0 {
		return fig, nil
	}
	if o.Width < 5*vg.Centimeter || o.Height < 5*vg.Centimeter || o.Width > 200*vg.Centimeter || o.Height > 200*vg.Centimeter {
		return nil, bad("size", fmt.Sprintf("%.3g × %.3g cm", o.Width/vg.Centimeter, o.Height/vg.Centimeter), "5 to 200 cm each way")
	}
	switch f := fig.(type) {
	case *Chart:
		f.Width, f.Height = o.Width, o.Height
	case *Panels:
		f.resize(o.Width, o.Height)
	default:
		return nil, bad("size", fmt.Sprintf("%.3g × %.3g cm", o.Width/vg.Centimeter, o.Height/vg.Centimeter), "none: this figure has the size of what it shows")
	}
	return fig, nil
}
