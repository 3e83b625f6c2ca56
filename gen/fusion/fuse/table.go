package fuse

import "rules_dnn/gen/ops"

// verdict is the colour of a cell of DNNFusion's table 3.3.
type verdict uint8

// Verdicts.
const (
	through verdict = iota // green: legal, and pays
	depend                 // yellow: legal; whether it pays, an estimate tells (the paper measures)
	stop                   // red: never pays
)

// cell is the mapping type of two operators fused, and the verdict.
type cell struct {
	result  ops.MappingType
	verdict verdict
}

const (
	oneToOne   = ops.OneToOne
	oneToMany  = ops.OneToMany
	manyToMany = ops.ManyToMany
	reorganize = ops.Reorganize
	shuffle    = ops.Shuffle
)

// table is DNNFusion's table 3.3 (dissertation): table[first][second]. Its colours follow the
// text below it: what is fused with a One-to-One operator pays, whichever comes first;
// Reorganize and Shuffle pay with each other, and with One-to-Many or Many-to-Many depend on
// the accesses that result; Many-to-Many before a One-to-Many depends as well.
var table = map[ops.MappingType]map[ops.MappingType]cell{
	oneToOne: {
		oneToOne: {oneToOne, through}, oneToMany: {oneToMany, through}, manyToMany: {manyToMany, through},
		reorganize: {reorganize, through}, shuffle: {shuffle, through},
	},
	oneToMany: {
		oneToOne: {oneToMany, through}, oneToMany: {oneToMany, depend}, manyToMany: {manyToMany, stop},
		reorganize: {oneToMany, depend}, shuffle: {oneToMany, depend},
	},
	manyToMany: {
		oneToOne: {manyToMany, through}, oneToMany: {manyToMany, depend}, manyToMany: {manyToMany, stop},
		reorganize: {manyToMany, depend}, shuffle: {manyToMany, depend},
	},
	reorganize: {
		oneToOne: {reorganize, through}, oneToMany: {oneToMany, depend}, manyToMany: {manyToMany, depend},
		reorganize: {reorganize, through}, shuffle: {reorganize, through},
	},
	shuffle: {
		oneToOne: {shuffle, through}, oneToMany: {oneToMany, depend}, manyToMany: {manyToMany, depend},
		reorganize: {reorganize, through}, shuffle: {shuffle, through},
	},
}

// paysAfterAny reports whether the table lets a second block be fused with whatever computes its operand.
func paysAfterAny(second ops.MappingType) bool {
	for _, row := range table {
		if c, ok := row[second]; !ok || c.verdict != through {
			return false
		}
	}
	return true
}
