# METADATA
# title: Who may ask the gate's OPA
# description: Whoever knows the token that the gate drew for this run may ask; nobody may change anything.
package system.authz

default allow := false

allow if {
	input.identity == data.gate.token
	input.method == "POST"
	input.path[0] == "v1"
	input.path[1] == "data"
}

allow if {
	input.identity == data.gate.token
	input.path == ["health"]
}
