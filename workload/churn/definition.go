package churn

import (
	"context"

	"assay/workload"
	"assay/workload/definition"
)

// Name is the workload's name.
const Name = "churn"

// By is the support of the workload by a driver's function.
func By(open func(ctx context.Context, target workload.Target) (Store, error)) definition.Support {
	return definition.By(Name, open)
}
