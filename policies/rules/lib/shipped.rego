# METADATA
# title: The runtimes that Trainer ships
# description: |
#   Every ClusterTrainingRuntime of Trainer's manifests and Helm chart by name, with the value of the chart that turns it on.
package lib.shipped

import data.lib.argocd

runtimes := {
	"deepspeed-distributed": ["runtimes", "deepspeedDistributed", "enabled"],
	"jax-distributed": ["runtimes", "jaxDistributed", "enabled"],
	"mlx-distributed": ["runtimes", "mlxDistributed", "enabled"],
	"torch-distributed": ["runtimes", "torchDistributed", "enabled"],
	"torch-distributed-with-cache": ["dataCache", "runtimes", "torchDistributedWithCache", "enabled"],
	"torchtune-llama3.2-1b": ["runtimes", "torchtuneDistributed", "llama3_2_1B", "enabled"],
	"torchtune-llama3.2-3b": ["runtimes", "torchtuneDistributed", "llama3_2_3B", "enabled"],
	"torchtune-qwen2.5-1.5b": ["runtimes", "torchtuneDistributed", "qwen2_5_1_5B", "enabled"],
	"xgboost-distributed": ["runtimes", "xgboostDistributed", "enabled"],
}

# Names of those that an Application of the input installs by the chart.
installed contains name if {
	some app in input.applications
	some source in app.sources
	some name in installed_by(source.spec)
}

# Names of those that a source installs by the chart, as far as its values stand in the Application.
installed_by(source) := {name |
	argocd.chart(source) == "kubeflow-trainer"
	some name, toggle in runtimes
	turned_on(name, toggle, source)
}

turned_on(_, toggle, source) if argocd.helm_value(source, toggle) == true

turned_on(name, _, source) if {
	argocd.helm_value(source, ["runtimes", "defaultEnabled"]) == true
	name != "torch-distributed-with-cache"
}
