// Package limit is what the compiler spends on a model at most: a broken or hostile file of a few
// bytes must not take gigabytes or minutes, nor end the process in a way that no message explains.
// Every limit is far above what networks need. A message that refuses something says the limit.
package limit

import "fmt"

const (
	// Nodes of a graph once functions are inlined. The largest networks have some ten thousand.
	Nodes = 1 << 20
	// What calls of functions expand to, in nodes, operands, results and attributes, is at most Expanded, and
	// ExpandedFactor times what the file has of them: functions that call the next twice each double it at each
	// level, so that a thousand bytes could ask for any number. An exporter that makes a function of every
	// operator and of every module makes ten nodes of each node of a network and repeats them for each of up to a hundred
	// layers: GPT-2 XL has then some 25,000 nodes, of 5 parts each, which is half of Expanded. The compiler
	// takes seconds for as many.
	Expanded       = 1 << 18
	ExpandedFactor = 32
	// Nesting of graphs within graphs, of functions within functions, of regions in text: each
	// level is a few frames of the stack, and of each pass that walks it.
	Nesting = 64
	// Regions is the most graphs that a node has (If has two): each takes all that any of them captures.
	Regions = 2
	// Messages is the nesting of protobuf messages: Nesting levels of graph, node and attribute.
	Messages = 200
	// Protos is how many messages a file may hold: two bytes of the file can be one of some hundred
	// bytes in memory. The largest networks have some hundred thousand.
	Protos = 1 << 22

	// List is the most elements of a list that is an attribute. Those of networks have a few; the
	// grams of a TfIdfVectorizer some hundred thousand. Longer lists are constants, which stay in the file.
	List = 1 << 20

	// Rank is the most dimensions of a tensor. ONNX's operators need 8 or so; passes
	// keep sets of axes in the bits of a word.
	Rank = 32
	// Symbols is the most dimensions that are known only when a model runs, those that it computes included: the runtime's kMaxSymbols. What is known of
	// them goes with each block.
	Symbols = 256
	// Tensor is the greatest size of one tensor in bytes, constants and intermediate values of
	// constant shape: no network needs a terabyte, and sums of sizes stay within 64 bits.
	Tensor = 1 << 40

	// FoldBytes is the size of a folded constant that needs no reason; a larger one must not
	// exceed the constants that it is made of, or have more elements than one of them, so that models do not grow by much.
	FoldBytes = 64 << 10
	// FoldMost bounds any folded constant: weights of huge models stay in their files.
	FoldMost = 256 << 20
	// FoldPoints is how often a node that is folded may evaluate its expressions, and FoldFactor how
	// often for each element of its operands: a window of 2^31 elements on a tensor of one would
	// run for minutes. What is above is left to run time.
	FoldPoints = 1 << 22
	FoldFactor = 1 << 11

	// Expression is the length of an expression's text, about 100 terms: sizes that are multiplied
	// with themselves again and again would double it each time. Nothing is known of longer ones.
	Expression = 1 << 14
	// Parentheses of an expression that is parsed, and Terms of it and of any product.
	Parentheses = 500
	Terms       = 1 << 12
	// KernelText is the bytes of a kernel's text that is parsed, and KernelDepth how deep its statements and
	// expressions stand in each other: each level is a few frames of the stack.
	KernelText  = 1 << 26
	KernelDepth = 10000
	// Identifier is the bytes of a name that is made of a foreign one.
	Identifier = 64

	// Inlined is the bytes of a name that is made when a function is inlined, of those of the calls around it.
	Inlined = 1 << 10

	// Shown is the characters of a model's name that a message shows, Listed the lines of a list.
	Shown  = 80
	Listed = 50
)

// TooManySymbols refuses a model of so many.
func TooManySymbols(n int) error {
	return fmt.Errorf("%d symbols; the runtime supports %d: bind some with --dim", n, Symbols)
}
