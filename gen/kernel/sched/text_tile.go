package sched

import (
	"fmt"
	"strings"

	"rules_dnn/gen/target/instr"
)

func (t *Tile) print(b *strings.Builder) {
	fmt.Fprintf(b, "  tile %s %s", t.Row, t.X)
	if t.Ahead > 0 {
		fmt.Fprintf(b, ", w %d ahead", t.Ahead)
	}
	if t.AheadX {
		b.WriteString(", x ahead")
	}
	if t.Next > 0 {
		fmt.Fprintf(b, ", next %d", t.Next)
	}
	if t.Narrow > 0 {
		fmt.Fprintf(b, ", narrow %d", t.Narrow)
	}
	if t.Block > 0 {
		fmt.Fprintf(b, ", block %d", t.Block)
	}
	if t.Alone {
		b.WriteString(", alone")
	}
	if t.Early {
		b.WriteString(", early")
	}
	if t.Held > 0 {
		fmt.Fprintf(b, ", held %d", t.Held)
	}
	if t.Skips > 0 {
		fmt.Fprintf(b, ", skips %d", t.Skips)
	}
	if t.Claims {
		b.WriteString(", claims")
	}
	b.WriteByte('\n')
}

func (t *Stage) parseTile(text string) error {
	fields := strings.Split(text, ", ")
	row, x, _ := strings.Cut(fields[0], " ")
	for _, o := range []instr.Operand{instr.Vector, instr.Memory, instr.Register, instr.Lane, instr.Scalar} {
		if o.String() == x {
			t.Tile = &Tile{Row: row, X: o}
		}
	}
	if t.Tile == nil {
		return fmt.Errorf("want tile ROW and vec, mem, bcast, lane or scalar")
	}
	for _, f := range fields[1:] {
		if f == "x ahead" {
			t.Tile.AheadX = true
		} else if f == "alone" {
			t.Tile.Alone = true
		} else if f == "early" {
			t.Tile.Early = true
		} else if f == "claims" {
			t.Tile.Claims = true
		} else if n, err := fmt.Sscanf(f, "next %d", &t.Tile.Next); n == 1 && err == nil && t.Tile.Next > 0 {
			continue
		} else if n, err := fmt.Sscanf(f, "narrow %d", &t.Tile.Narrow); n == 1 && err == nil && t.Tile.Narrow > 0 {
			continue
		} else if n, err := fmt.Sscanf(f, "block %d", &t.Tile.Block); n == 1 && err == nil && t.Tile.Block > 0 {
			continue
		} else if n, err := fmt.Sscanf(f, "held %d", &t.Tile.Held); n == 1 && err == nil && t.Tile.Held > 0 {
			continue
		} else if n, err := fmt.Sscanf(f, "skips %d", &t.Tile.Skips); n == 1 && err == nil && t.Tile.Skips > 0 {
			continue
		} else if _, err := fmt.Sscanf(f, "w %d ahead", &t.Tile.Ahead); err != nil || t.Tile.Ahead < 1 {
			return fmt.Errorf("%q: want w N ahead, x ahead, next N, narrow N, block N, alone, early, held N, skips N or claims", f)
		}
	}
	return nil
}
