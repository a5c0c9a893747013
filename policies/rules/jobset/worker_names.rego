# METADATA
# title: A worker has its own name and finds the names of the others
# description: |
#   Workers find one another by the names that JobSet gives them in the cluster's DNS. A pod in the network of its node has the
#   node's name instead of its own and, with the default dnsPolicy, asks the node's DNS, which knows no pod; so does one with
#   dnsPolicy Default. tfrun reads a worker's index from its name {job}-node-0-{index}: in a replicatedJob that is not called
#   node it does not know who it is, and ends.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-s-dns-policy
#   description: dnsPolicy, and what it means with hostNetwork
# custom:
#   symptoms:
#   - "is not JOB-node-0-INDEX: which worker is this?"
#   severity: error
#   seen:
#   - "lab: tests/lab/test_runs_left_alone.py::test_in_the_network_of_its_node_a_worker_has_the_nodes_name"
#   - "lab: tests/lab/test_runs_left_alone.py::test_the_dns_of_the_node_knows_no_worker"
#   - "lab: tests/lab/test_runs_left_alone.py::test_a_worker_of_another_name_does_not_know_who_it_is"
#   - "lab: tests/lab/test_roles.py::test_a_second_job_of_workers_without_their_name_ends_the_run"
#   - "source: kubernetes pkg/kubelet/network/dns/dns.go"
#   - "source: kubernetes pkg/kubelet/kuberuntime/kuberuntime_sandbox.go"
#   fix: "Leave hostNetwork and dnsPolicy out, and call the replicatedJob of the workers `node`."
#   example: |
#     template:
#       spec:
#         hostNetwork: true          # for InfiniBand, in place of an attachment
#         containers: [{name: node, command: [python3, tfrun.py, python3, train.py]}]
package rules.jobset.worker_names

import data.lib
import data.lib.roles

report contains object.union(lib.in_workload(g.workload, lib.pod_path(g, ["dnsPolicy"]), message), {"fix": fix}) if {
	some g in lib.gangs
	lib.pod_spec(g).hostNetwork == true
	not roles.under_tfrun(g) # to which no DNS helps, see below
	policy := object.get(lib.pod_spec(g), "dnsPolicy", "ClusterFirst")
	policy in {"ClusterFirst", "Default"}
	message := sprintf("with hostNetwork and dnsPolicy %s the workers ask the node's DNS, which does not know one another's names", [policy])
	fix := "Leave hostNetwork out, or write `dnsPolicy: ClusterFirstWithHostNet`."
}

report contains lib.in_workload(g.workload, lib.pod_path(g, ["dnsPolicy"]), message) if {
	some g in lib.gangs
	not lib.pod_spec(g).hostNetwork == true
	lib.pod_spec(g).dnsPolicy == "Default"
	message := "with dnsPolicy Default the workers ask the node's DNS, which does not know one another's names"
}

report contains object.union(lib.in_workload(g.workload, lib.pod_path(g, ["hostNetwork"]), message), {"fix": "Leave hostNetwork and dnsPolicy out."}) if {
	some g in lib.gangs
	lib.pod_spec(g).hostNetwork == true
	roles.under_tfrun(g)
	message := "with hostNetwork a worker has its node's name, from which tfrun cannot tell which worker it is: every worker ends"
}

report contains object.union(lib.in_workload(g.workload, ["spec", "replicatedJobs", g.pod.replicatedJob, "name"], message), fix(g)) if {
	some g in lib.gangs
	roles.under_tfrun(g)
	not regex.match(`^(.+-)?node$`, g.pod.name)
	message := sprintf("the replicatedJob is called %s, and tfrun reads a worker's index from a name …-node-0-INDEX: every worker ends", [g.pod.name])
}

# A Job beside the trainer's cannot have its name.
fix(g) := {} if not beside_the_trainer(g)

fix(g) := {"fix": "Make its pods workers of the replicatedJob `node`, or write TF_NUM_WORKERS=1 where each trains alone."} if {
	beside_the_trainer(g)
}

beside_the_trainer(g) if {
	not g.pod.trainer
	some other in g.workload.pods
	other.trainer
}
