// Package gradnoise estimates the gradient noise scale of a training run, and
// from it statistical efficiency and learning rates at other batch sizes.
package gradnoise
