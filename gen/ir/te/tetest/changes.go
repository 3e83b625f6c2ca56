// Package tetest finds what texts leave out, for tests of texts that must hold all of what they are of.
package tetest

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir/sym"
)

// Changer makes copies of a value with one change each.
type Changer struct {
	T *testing.T
	// Own makes the changes of what needs others than Each; false where it does not. It may be nil.
	Own func(path string, v reflect.Value, f func(string, reflect.Value)) bool
	// Maybe are the fields that may be zero, and are not changed then: they are of some kinds of a type only.
	Maybe map[string]bool
}

// Each calls f with every change of v: of a leaf to another value, of a list and a pointer to one without its last
// element. The path ends with the field that is changed.
func (c *Changer) Each(path string, v reflect.Value, f func(string, reflect.Value)) {
	if c.Own != nil && c.Own(path, v, f) {
		return
	}
	if e, ok := v.Interface().(sym.Expr); ok {
		f(path, reflect.ValueOf(sym.Add(e, sym.Const(1))))
		return
	}
	set := func(change func(reflect.Value)) {
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		change(out)
		f(path, out)
	}
	switch v.Kind() {
	case reflect.String:
		set(func(x reflect.Value) { x.SetString(v.String() + "x") })
	case reflect.Bool:
		set(func(x reflect.Value) { x.SetBool(!v.Bool()) })
	case reflect.Int, reflect.Int64:
		set(func(x reflect.Value) { x.SetInt(v.Int() + 1) })
	case reflect.Uint8, reflect.Uint64:
		set(func(x reflect.Value) { x.SetUint(v.Uint() + 1) })
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Name() + "." + v.Type().Field(i).Name
			if v.Field(i).IsZero() && c.Maybe[name] {
				continue
			}
			require.False(c.T, v.Field(i).IsZero(), "%s is not in the sample", name)
			c.Each(path+"/"+name, v.Field(i), func(p string, field reflect.Value) {
				out := reflect.New(v.Type()).Elem()
				out.Set(v)
				out.Field(i).Set(field)
				f(p, out)
			})
		}
	case reflect.Slice:
		set(func(x reflect.Value) { x.Set(v.Slice(0, v.Len()-1)) })
		for i := range v.Len() {
			c.Each(path, v.Index(i), func(p string, element reflect.Value) {
				out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
				reflect.Copy(out, v)
				out.Index(i).Set(element)
				f(p, out)
			})
		}
	case reflect.Pointer:
		f(path, reflect.Zero(v.Type()))
		c.Each(path, v.Elem(), func(p string, element reflect.Value) {
			out := reflect.New(v.Type().Elem())
			out.Elem().Set(element)
			f(p, out)
		})
	case reflect.Interface:
		f(path, reflect.Zero(v.Type()))
		c.Each(path, v.Elem(), f)
	default:
		require.Fail(c.T, "no other value is known", "%s %s", path, v.Type())
	}
}
