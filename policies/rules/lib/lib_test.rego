package rules_test.lib

import data.lib

nameless := {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}

code(namespace) := {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "code", "namespace": namespace}}

queue := {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": "code", "namespace": "a"}}

objects := [nameless, code("a"), {"kind": "ConfigMap"}, queue, code("b")]

test_objects_of_a_kind if {
	lib.objects("", "ConfigMap") == {0: nameless, 1: code("a"), 4: code("b")} with input.objects as objects
	lib.objects("example.com", "ConfigMap") == {} with input.objects as objects
}

test_objects_of_a_name if {
	lib.objects_named("", "ConfigMap", "code") == {1: code("a"), 4: code("b")} with input.objects as objects
	lib.objects_named("kueue.x-k8s.io", "LocalQueue", "code") == {3: queue} with input.objects as objects
	lib.objects_named("", "ConfigMap", "other") == {} with input.objects as objects
}
