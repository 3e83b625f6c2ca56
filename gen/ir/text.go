package ir

// InlineElems is the greatest number of elements of a constant that the text form prints in place.
const InlineElems = 64
