package scalar

// Log is the natural logarithm, the same on every build host: that of package math fuses products with sums on some.
func Log(x float64) float64 { return log64(x) }

// Exp is e to the power of x, the same on every build host.
func Exp(x float64) float64 { return exp64(x) }
