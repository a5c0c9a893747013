# METADATA
# title: The runtimes that Trainer ships
# description: |
#   Every ClusterTrainingRuntime of Trainer's manifests and Helm chart by name, with the value of the chart that turns it on.
package lib.shipped

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
	some values in chart_values
	some name, toggle in runtimes
	turned_on(name, toggle, values)
}

turned_on(_, toggle, values) if object.get(values, toggle, false) == true

turned_on(name, _, values) if {
	object.get(values, ["runtimes", "defaultEnabled"], false) == true
	name != "torch-distributed-with-cache"
}

chart_values contains values if {
	some app in input.applications
	some source in app.sources
	source.spec.chart == "kubeflow-trainer"
	values := source.spec.helm.valuesObject
}

chart_values contains values if {
	some app in input.applications
	some source in app.sources
	source.spec.chart == "kubeflow-trainer"
	yaml.is_valid(source.spec.helm.values)
	values := yaml.unmarshal(source.spec.helm.values)
	is_object(values)
}
