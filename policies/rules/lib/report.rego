# METADATA
# title: All findings of all rules
# description: The one document that the gate asks for.
package lib.report

# Rules are found by their place: rules.<area>.<name>, the id is area/name in kebab-case.
findings contains object.union(finding, {"rule": id}) if {
	some area, name
	some finding in data.rules[area][name].report
	id := sprintf("%s/%s", [area, replace(name, "_", "-")])
}
