package shape

import "rules_dnn/gen/te"

func foldScalar(_ te.Call, _ []value) value { return value{} }
