// Package shape infers the type, the shape and, for small integer tensors, the
// elements of every value: SoD2's rank and dimension propagation (RDP).
//
// There is no transfer function for any operator here. An operator's results have
// the axes of the stages that ops.Build gives, and elements are those stages
// evaluated with symbols for numbers, so that chains such as Shape -> Gather ->
// Concat -> Reshape become symbolic shapes. A static model is merely one where
// every expression is a constant.
//
// Transfer runs forward. Nodes stand in topological order, and an element or a
// dimension never depends on a later node, so that one sweep is a fixed point for
// given symbols. Where operators require two symbols to be equal, or a symbol to be
// a number, it is replaced everywhere and the sweep is repeated. Running again
// after the graph was simplified may learn more.
package shape
