package rules_test.trainer.own_runtime

import data.rules.trainer.own_runtime.report
import data.rules_test.fixture

labelled(key, value) := fixture.with_runtime(fixture.trainjob, sprintf("metadata/labels/trainer.kubeflow.org~1%s", [key]), value)

named(name) := fixture.with_runtime(fixture.trainjob, "metadata/name", name)

chart(helm) := [{"sources": [{"path": ["spec", "source"], "spec": {"chart": "kubeflow-trainer", "helm": helm}}]}]

test_fail_managed_by if {
	report == {fixture.at(
		1, ["metadata", "labels", "trainer.kubeflow.org/managed-by"],
		"the label managed-by: runtimes-installer gives the runtime to Trainer's installer, which deletes it with the next upgrade",
	)} with input as labelled("managed-by", "runtimes-installer")
}

overwritten(severity) := {object.union(
	fixture.at(1, ["metadata", "name"], "Trainer ships a runtime torch-distributed: where its installer applies it, this one is overwritten"),
	{"severity": severity},
)}

test_fail_name if report == overwritten("warning") with input as named("torch-distributed")

test_fail_name_that_the_chart_applies if {
	report == overwritten("error") with input as named("torch-distributed") with input.applications as chart({"values": "runtimes: {defaultEnabled: true}"})
	report == overwritten("error") with input as named("torch-distributed") with input.applications as chart({"valuesObject": {"runtimes": {"torchDistributed": {"enabled": true}}}})
	report == overwritten("error") with input as named("torch-distributed") with input.applications as chart({"parameters": [{"name": "runtimes.torchDistributed.enabled", "value": "true"}]})
	report == overwritten("warning") with input as named("torch-distributed") with input.applications as chart({"parameters": [{"name": "runtimes.defaultEnabled", "value": "false"}], "values": "runtimes: {defaultEnabled: true}"})
	report == overwritten("warning") with input as named("torch-distributed") with input.applications as chart({"valuesObject": {"runtimes": {"jaxDistributed": {"enabled": true}}}})
}

jax := {"valuesObject": {"runtimes": {"jaxDistributed": {"enabled": true}}}}

of_version(version, helm) := [{"object": 3, "path": ["spec"], "name": "trainer", "sources": [{
	"path": ["spec", "source"],
	"spec": {"chart": "kubeflow-trainer", "targetRevision": version, "helm": helm},
}]}]

test_fail_installed_beside_ones_own if {
	message := sprintf("Application trainer has a Job of the chart apply jax-distributed: Argo CD neither shows nor restores nor removes them, as it does with the runtimes of the repository (%s)", [fixture.trainjob.objects[1].metadata.name])
	some finding in report with input as fixture.trainjob with input.applications as of_version("2.3.0", jax)
	finding.message == message
	finding.severity == "warning"
	finding.object == 3
	finding.path == ["spec", "source", "helm"]
}

test_success_installed_as_a_part_or_alone_or_not if {
	report == set() with input as fixture.trainjob with input.applications as of_version("2.2.1", jax)
	report == set() with input as fixture.trainjob with input.applications as of_version("2.3.0", {"valuesObject": {"runtimes": {"defaultEnabled": false}}})
	report == set() with input as {"objects": [], "workloads": []} with input.applications as of_version("2.3.0", jax)
}

test_fail_without_the_webhook if {
	report == {object.union(
		fixture.at(
			1, ["metadata", "labels", "trainer.kubeflow.org/webhook-validation"],
			"the label webhook-validation: disabled keeps Trainer's webhook away: what it would refuse shows up in each TrainJob of the runtime",
		),
		{"severity": "warning"},
	)} with input as labelled("webhook-validation", "disabled")
}

test_success_own_name_and_labels if {
	report == set() with input as fixture.trainjob
	report == set() with input as labelled("managed-by", "platform-team")
}

# One of Trainer's, as it ships it.
test_success_shipped if {
	every key, value in {"managed-by": "runtimes-installer", "webhook-validation": "disabled"} {
		labels := {sprintf("trainer.kubeflow.org/%s", [key]): value}
		report == set() with input as json.patch(named("jax-distributed"), [{"op": "add", "path": "/objects/1/metadata/labels", "value": labels}])
	}
}

test_success_namespaced if {
	report == set() with input as json.patch(named("jax-distributed"), [{"op": "replace", "path": "/objects/1/kind", "value": "TrainingRuntime"}])
}
