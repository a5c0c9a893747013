# METADATA
# title: The Jobs of a JobSet and what each is for
# description: |
#   A JobSet's replicatedJobs by name, those that run workers, those that are over before the workers begin, and what is
#   known never to end by itself.
package lib.roles

import data.lib

jobs(w) := object.get(w.jobset.spec, "replicatedJobs", [])

names(w) := {job.name | some job in jobs(w)}

# Names of the Jobs that train.
workers(w) := {pod.name | some pod in w.pods; worker(pod)}

worker(pod) if pod.tensorflow

worker(pod) if pod.trainer

# Names of the Jobs that are over before the workers begin: initializers, and those that others wait for to be Complete.
first(w) := {job.name | some job in jobs(w); lib.ancestor(job) in {"dataset-initializer", "model-initializer"}} | ({before.name |
	some job in jobs(w)
	some before in job.dependsOn
	before.status == "Complete"
} - workers(w))

# Names of the Jobs that a successPolicy waits for.
awaited(w) := targets if {
	targets := {name | some name in w.jobset.spec.successPolicy.targetReplicatedJobs}
	count(targets) > 0
} else := names(w)

# Whether tfrun starts the workers of a pod template.
under_tfrun(g) if regex.match(`(^|[\s/])tfrun(\.py)?(\s|$)`, words(lib.containers(g)[lib.trainer_container(g)]))

# What a container runs that never ends by itself.
endless(container) := "TensorBoard" if regex.match(`(^|[/\s])tensorboard(\s|$)`, words(container))

endless(container) := "sleep infinity" if regex.match(`(^|[/\s;&])sleep\s+inf`, words(container))

endless(container) := "tail -f" if regex.match(`(^|[/\s;&])tail\s([^;&|]*\s)?(-[a-z]*[fF](\s|$)|--follow)`, words(container))

words(container) := concat(" ", [word | some list in ["command", "args"]; some word in container[list]])
